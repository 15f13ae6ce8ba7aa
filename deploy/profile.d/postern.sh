# Login shells set PATH anew. Below `postern exec` the sudo that becomes requests stays first.
[ -z "${POSTERN_EXEC:-}" ] || PATH=/usr/lib/postern/shims:$PATH
