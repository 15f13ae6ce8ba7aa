"""Attempts to get out of the sandbox of a tool's command. Each prints one line: `NAME: out` where it worked,
or why it did not. The same file runs without the sandbox, as the control."""
import array
import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import sys
import traceback

AGENT = int(sys.argv[1])
ATTACKS = []
LIBC = ctypes.CDLL(None, use_errno=True)
CURRENT = ctypes.c_long(-100)  # AT_FDCWD


def attack(function):
    ATTACKS.append(function)
    return function


def call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def connect(name, family=socket.AF_UNIX, kind=socket.SOCK_STREAM):
    peer = socket.socket(family, kind)
    peer.settimeout(5)
    peer.connect(name)


def connects(name, path):
    def attempt():
        connect(path)
    attempt.__name__ = "connect_" + name
    attack(attempt)


for name, path in {
    "helper": "/run/postern/helper.sock", "operator": "/run/postern/operator.sock",
    "gateway": "/run/postern/internal/gateway.sock", "agent": "/run/postern/agent.sock", "tool": "/run/postern/tool.sock",
    "system_bus": "/run/dbus/system_bus_socket", "user_bus": "/run/user/4242/bus",
    "systemd": "/run/systemd/private", "journal": "/run/systemd/journal/stdout", "abstract": "\0escape",
}.items():
    connects(name, path)


@attack
def datagram_pair_to_the_journal():
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"escaped", "/run/systemd/journal/dev-log")


@attack
def tcp_to_this_host():
    connect(("127.0.0.1", 7001), socket.AF_INET)


@attack
def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 7001))


@attack
def netlink():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


@attack
def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attack
def inherited_descriptors():
    mine = os.open("/", os.O_PATH)
    for entry in range(3, 1024):
        try:
            if entry != mine and not fcntl.fcntl(entry, fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
                return
        except OSError:
            pass
    if stat.S_ISSOCK(os.fstat(0).st_mode):
        return
    raise OSError(errno.EBADF, "none")


@attack
def agents_memory():
    os.open(f"/proc/{AGENT}/mem", os.O_RDWR)


@attack
def agents_environment():
    os.open(f"/proc/{AGENT}/environ", os.O_RDONLY)


@attack
def supervisors_memory():
    os.open(f"/proc/{PARENT}/mem", os.O_RDWR)


@attack
def supervisors_descriptors():
    os.listdir(f"/proc/{PARENT}/fd")


@attack
def ptrace_the_supervisor():
    call(101, 0x4206, PARENT, 0, 0)  # PTRACE_SEIZE


@attack
def read_the_supervisor():
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    there = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    try:
        call(310, PARENT, here, 1, there, 1, 0)
    except OSError as error:
        # The address is a guess: that it was looked at is enough.
        if error.errno != errno.EFAULT:
            raise


@attack
def take_the_supervisors_descriptor():
    call(438, os.pidfd_open(PARENT), 0, 0)


@attack
def signal_to_the_agent():
    os.kill(AGENT, signal.SIGCONT)


@attack
def pidfd_signal_to_the_agent():
    signal.pidfd_send_signal(os.pidfd_open(AGENT), signal.SIGCONT)


@attack
def signal_to_the_supervisor():
    os.kill(PARENT, signal.SIGCONT)


@attack
def setuid_program():
    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(write, 1)
        os.execv("/usr/local/lib/escape-id", ["id", "-u"])
    os.wait()
    if os.read(read, 10) != b"0\n":
        raise OSError(errno.EPERM, "")


@attack
def become_root():
    os.setresuid(0, 0, 0)


@attack
def leave_the_groups():
    os.setgroups([])


@attack
def user_namespace():
    call(272, 0x10000000)


@attack
def mount_namespace():
    call(272, 0x00020000)


@attack
def clone_a_user_namespace():
    if call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


@attack
def clone3_a_user_namespace():
    arguments = array.array("Q", [0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0])
    if call(435, ctypes.c_void_p(arguments.buffer_info()[0]), 64) == 0:
        os._exit(0)


@attack
def enter_a_namespace():
    call(308, os.open("/proc/self/ns/uts", os.O_RDONLY), 0)


@attack
def mount():
    call(165, b"none", b"/tmp", b"tmpfs", 0, 0)


@attack
def open_tree():
    call(428, CURRENT, b"/", 1)


@attack
def change_root():
    os.chroot("/usr")


@attack
def bpf():
    attributes = struct.pack("IIII", 2, 4, 4, 1).ljust(64, b"\0")
    call(321, 0, attributes, 64)


@attack
def perf_events():
    call(298, struct.pack("II", 1, 112).ljust(112, b"\0"), 0, -1, -1, 0)


@attack
def add_a_key():
    call(248, b"user", b"escape", b"x", 1, -2)


@attack
def keyctl():
    call(250, 0, -3, 1)


@attack
def io_uring():
    call(425, 4, ctypes.create_string_buffer(120))


@attack
def userfaultfd():
    call(323, 0)


@attack
def file_handles():
    handle = struct.pack("II", 128, 0).ljust(136, b"\0")
    number = ctypes.c_int()
    call(303, CURRENT, b"/etc", handle, ctypes.byref(number), 0)


@attack
def kernel_log():
    call(103, 10, 0, 0)


@attack
def load_a_module():
    call(313, os.open("/usr/bin/true", os.O_RDONLY), b"", 0)


@attack
def set_the_clock():
    call(305, 0, ctypes.create_string_buffer(208))


@attack
def raise_a_priority():
    os.setpriority(os.PRIO_PROCESS, 0, -5)


@attack
def limits_of_the_supervisor():
    resource.prlimit(PARENT, resource.RLIMIT_NOFILE)


@attack
def raise_a_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    call(302, 0, resource.RLIMIT_MEMLOCK, struct.pack("QQ", soft, hard + 1), 0)


@attack
def personality():
    call(135, 0x0040000)


@attack
def x32_call():
    call(0x40000000 | 39)


@attack
def ia32_call():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # getpid() of i386.
    code.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    answer = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if answer < 0:
        raise OSError(-answer, "")


@attack
def type_into_a_terminal():
    try:
        terminal = os.openpty()[1]
    except OSError:
        terminal = 0
    fcntl.ioctl(terminal, 0x5412, b"x")


@attack
def open_a_terminal():
    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)


@attack
def make_a_device():
    os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3))


@attack
def shared_memory():
    open("/dev/shm/escape", "w").close()
    os.unlink("/dev/shm/escape")


@attack
def system_v_memory():
    call(31, call(29, 0, 4096, 0o1600), 0, 0)


def writes(name, path):
    def attempt():
        with open(path, "a"):
            pass
    attempt.__name__ = "write_" + name
    attack(attempt)


for name, path in {
    "a_configuration": "/etc/escape", "a_program": "/usr/local/bin/escape", "a_unit": "/run/systemd/system/escape",
    "the_root_directory": "/escape", "a_home": "/home/escape", "a_file_open_to_all": "/srv/escape-open",
    "another_tasks_file": "/var/lib/postern-tool/tasks/other/file", "a_cgroup": "/sys/fs/cgroup/cgroup.procs",
    "the_memory_score": "/proc/self/oom_score_adj", "a_setting_of_the_kernel": "/proc/sys/net/ipv4/ip_forward",
}.items():
    writes(name, path)


def reads(name, path):
    def attempt():
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
    attempt.__name__ = "read_" + name
    attack(attempt)


for name, path in {
    "shadow": "/etc/shadow", "the_policy": "/etc/postern/policy.toml", "the_agents_state": "/var/lib/postern",
    "the_audit_log": "/var/log/postern/audit.jsonl", "the_helpers_state": "/var/lib/postern-root",
    "roots_home": "/root", "another_tasks_file": "/var/lib/postern-tool/tasks/other/file",
    "the_names_of_tasks": "/var/lib/postern-tool/tasks",
}.items():
    reads(name, path)


@attack
def write_through_a_symlink():
    os.symlink("/srv/escape-open", "link")
    open("link", "a").close()


@attack
def link_into_the_workspace():
    os.link("/srv/escape-open", "hard")


@attack
def rename_out_of_the_workspace():
    open("mine", "w").close()
    os.rename("mine", "/var/lib/postern-tool/tasks/other/mine")


@attack
def open_the_way_to_the_tasks():
    os.chmod("/var/lib/postern-tool", 0o777)
    os.chmod("/var/lib/postern-tool", 0o750)


@attack
def cut_another_tasks_file():
    os.truncate("/var/lib/postern-tool/tasks/other/file", 3)


@attack
def cut_by_opening():
    os.open("/var/lib/postern-tool/tasks/other/file", os.O_RDONLY | os.O_TRUNC)


@attack
def make_a_setuid_file():
    open("mine", "w").close()
    os.chmod("mine", 0o4755)


def tidy():
    for path in ("device", "link", "hard", "mine", "/etc/escape", "/usr/local/bin/escape", "/run/systemd/system/escape",
                 "/escape", "/home/escape", "/var/lib/postern-tool/tasks/other/mine"):
        try:
            os.unlink(path)
        except OSError:
            pass


def one(attempt):
    """In a process of its own: some attempts end it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            signal.alarm(10)
            attempt()
            said = "out"
        except OSError as error:
            said = errno.errorcode.get(error.errno, str(error))
        except Exception:
            said = traceback.format_exc().splitlines()[-1]
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.close(read)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        said = signal.Signals(os.WTERMSIG(status)).name
    print(f"{attempt.__name__}: {said}", flush=True)


PARENT = os.getppid()
if len(sys.argv) > 2:
    os.makedirs(sys.argv[2], exist_ok=True)
    os.chdir(sys.argv[2])
for attempt in ATTACKS:
    one(attempt)
    tidy()
