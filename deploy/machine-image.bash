# The root of a throwaway Debian, kept as a tarball for the next machine. Part of `machine`, which see.
# shellcheck shell=bash

# Raise FORMAT whenever the way an image is made changes.
readonly FORMAT=7
# In every machine. sudo and curl are there so that a failure is never "not installed".
readonly INSTALLED=(systemd-sysv dbus curl sudo iproute2 procps strace python3 apt-utils)
# In the local repository with all that they pull in.
readonly OFFERED=(nginx-light hello needrestart etckeeper apt-listchanges)

# The Debian sources of this host with its release's name replaced, as deb822.
sources_for() {
    local release=$1 host origin uri suite component entry key rest
    host=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
    # Without lists apt knows no Origin; a fresh host has none yet.
    apt-get indextargets --format '$(ORIGIN)' 'Created-By: Packages' | grep -qx Debian || apt-get -q update >&2
    apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)' 'Created-By: Packages' \
        | sort -u | while IFS='|' read -r origin uri suite component entry; do
        [ "$origin" = Debian ] || continue
        rest=${suite#"$host"}
        [ "$rest" != "$suite" ] || rest=${suite#stable}
        case $rest in '' | -updates | -security) ;; *) continue ;; esac
        key=$(grep -iom1 'signed-by[:=] *[^] ]*' "${entry%:*}" | sed 's/^[^:=]*[:=] *//' || true)
        # The file for one release lacks the keys of the other.
        case $key in /usr/share/keyrings/debian-archive-*) key=$(echo /usr/share/keyrings/debian-archive-keyring.*) ;; esac
        printf 'Types: deb\nURIs: %s\nSuites: %s%s\nComponents: %s\n' "$uri" "$release" "$rest" "$component"
        case $key in /*) printf 'Signed-By: %s\n' "${key%% *}" ;; esac
        echo
    done
}

# How this host reaches its sources (a proxy, its view of dates), for an apt that sees nothing else of it.
host_apt_options() { apt-config dump | grep -E '^Acquire::(Check-|https?::|Retries|ForceIPv)' || true; }

# An older keyring lacks the keys of a newer release; the current package of this host's release has them.
check_keyring() {
    compgen -G "/usr/share/keyrings/debian-archive-$1-stable.*" >/dev/null && return
    say "fetching the archive keys of $1"
    apt-get -q update >&2 && apt-get -q -y install debian-archive-keyring >&2 || true
    compgen -G "/usr/share/keyrings/debian-archive-$1-stable.*" >/dev/null \
        || die "the archive keys of $1 are missing (package debian-archive-keyring is too old)"
}

# Downloads packages with all dependencies that the root lacks into its repository. Words that name
# no package are left out.
fetch_into() {
    local root=$1 sources=$2 work=/var/tmp/fetch
    shift 2
    mkdir -p "$root$work/lists" "$root$work/archives/partial" "$root$REPO"
    cp "$sources" "$root$work/host.sources"
    host_apt_options >"$root$work/apt.conf"
    # The keys that the sources name may not exist inside; they are only borrowed.
    local key borrowed=()
    for key in $(sed -n 's/^Signed-By: \(\/.*\)/\1/p' "$sources" | sort -u); do
        [ -e "$root$key" ] || { install -D -m 0644 "$key" "$root$key" && borrowed+=("$root$key"); }
    done
    cp --dereference /etc/resolv.conf "$root$work/resolv.conf"
    cp "$root$work/resolv.conf" "$root/etc/resolv.conf"
    local apt=(chroot "$root" env APT_CONFIG="$work/apt.conf" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Etc::SourceList="$work/host.sources" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::Archives="$work/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o Acquire::Languages=none -o APT::Sandbox::User=root)
    "${apt[@]}" update >&2
    local names
    mapfile -t names < <("${apt[@]/#apt-get/apt-cache}" pkgnames | grep -Fx "${@/#/--regexp=}")
    if [ ${#names[@]} -gt 0 ]; then
        "${apt[@]}" -y --download-only -o APT::Install-Recommends=true install "${names[@]}" >&2
        mv "$root$work"/archives/*.deb "$root$REPO/" 2>/dev/null || true
    fi
    rm -rf "${root:?}$work" "$root/etc/resolv.conf" "${borrowed[@]}"
    seal_repository "$root"
}

# Indexes the repository and signs it with a key that is forgotten at once.
seal_repository() {
    local root=$1 home
    home=$(mktemp -d)
    (
        trap 'gpgconf --homedir "$home" --kill all 2>/dev/null; rm -rf "$home"' EXIT
        cd "$root$REPO"
        rm -f Packages Release InRelease
        chroot "$root" sh -c "cd $REPO && apt-ftparchive packages ." >"$home/Packages" && mv "$home/Packages" Packages
        chroot "$root" sh -c "cd $REPO && apt-ftparchive -o APT::FTPArchive::Release::Origin=Local \
            -o APT::FTPArchive::Release::Label=Local -o APT::FTPArchive::Release::Suite=local release ." \
            >"$home/Release" && mv "$home/Release" Release
        export GNUPGHOME=$home
        gpg --batch --quiet --passphrase '' --quick-generate-key 'local repository' ed25519 sign never 2>/dev/null
        gpg --batch --quiet --clearsign -o InRelease Release
        install -D -m 0644 /dev/null "$root$KEY"
        gpg --batch --quiet --armor --export >"$root$KEY"
        chmod 0644 ./*
    )
    printf 'Types: deb\nURIs: file:%s\nSuites: ./\nSigned-By: %s\n' "$REPO" "$KEY" \
        >"$root/etc/apt/sources.list.d/local.sources"
    # A directory in /var/lib with the umask of whoever made it would hide the packages from _apt.
    chmod 0755 "$root$REPO"
    chroot "$root" apt-get -qq update >&2
}

image_path() {
    local key
    key=$(printf '%s\n' "$FORMAT" "$(dpkg --print-architecture)" "${INSTALLED[@]}" -- "${OFFERED[@]}" | sha256sum | cut -c1-12)
    echo "$IMAGES/$1-$key.tar.zst"
}

make_image() {
    local release=$1 tarball work
    check_release "$release"
    prepare_host
    tarball=$(image_path "$release")
    exec 8>"$IMAGES/$release.lock"
    flock 8
    if [ ! -e "$tarball" ]; then
        say "making the Debian root for $release (once, a few minutes)"
        check_keyring "$release"
        work=$IMAGES/$release.work
        rm -rf --one-file-system "$work" # of a run that was killed
        mkdir "$work"
        # shellcheck disable=SC2064  # the path as it is now
        trap "rm -rf --one-file-system '$work'" EXIT
        sources_for "$release" >"$work/host.sources"
        host_apt_options >"$work/apt.conf"
        [ -s "$work/host.sources" ] || die "this host has no Debian sources in apt to take $release from"
        mmdebstrap --quiet --mode=root --variant=minbase --include="$(IFS=,; echo "${INSTALLED[*]}")" \
            --aptopt='APT::Install-Recommends "false"' \
            --aptopt="$work/apt.conf" "$release" "$work/root" "$work/host.sources" >&2
        clean_root "$work/root"
        fetch_into "$work/root" "$work/host.sources" "${OFFERED[@]}"
        tar -C "$work/root" --xattrs --xattrs-include='*' --acls --numeric-owner -c . | zstd -q -3 -T0 -o "$work/root.tar.zst"
        # Of an older format or package list. Another checkout may still boot from one that is not old.
        find "$IMAGES" -name "$release-*.tar.zst" -mtime +6 -delete
        mv "$work/root.tar.zst" "$tarball"
        rm -rf --one-file-system "$work"
        trap - EXIT
    fi
    exec 8>&-
    echo "$tarball"
}

# Nothing of this host stays in the root, and nothing runs in it that no test asked for.
clean_root() {
    local root=$1
    rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/apt.conf.d/*mmdebstrap \
        "$root"/etc/resolv.conf "$root"/etc/hostname
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb
    : >"$root/etc/machine-id"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
    local unit
    for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
        console-getty.service getty.target systemd-firstboot.service; do
        ln -sfn /dev/null "$root/etc/systemd/system/$unit"
    done
    install -d "$root/var/log/journal"
}
