"""Several hosts on one machine: namespaces of Linux, joined by a bridge. They end with the process that made them."""
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

NET = "10.77.0"
LAUNCHER = "pwhost0"  # where mpiexec runs
INSIDE = "PW_HOSTS_INSIDE"
# Every kind of namespace that tells two machines from each other. The system ends all processes of a PID namespace with its
# first one, and what is in the other namespaces goes with its last process. So nothing is left, however a run ends.
NAMESPACES = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Unavailable(Exception):
    """This machine cannot make the hosts; the text says why."""


def command(*words, **more):
    """Runs a command; what it says against it is the error."""
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise Unavailable(f"{shlex.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def enter_own():
    """Runs this program again in namespaces of its own, where it is root and sees no network, and exits with its status.
    Returns inside. The kernel ends everything there when this process ends or is told to end: the first process of a PID
    namespace and unshare itself heed no other signal than SIGKILL."""
    if INSIDE in os.environ:
        return
    words = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), *NAMESPACES]
    try:
        command(*words, "true")
    except (OSError, Unavailable) as e:
        raise Unavailable(f"no namespaces: {e}") from None
    words = ["setpriv", "--pdeathsig", "KILL", *words, sys.executable, *sys.argv]
    inside = subprocess.Popen(words, env={**os.environ, INSIDE: "1"})

    def end(number, _):
        inside.kill()
        sys.exit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    sys.exit(inside.wait())


def shared_folder(*trees):
    """A folder that all hosts see, as a file system of the network: nothing of `trees` may be hidden by it."""
    for name in ("/mnt", "/media", "/srv"):
        if os.path.isdir(name) and not any(Path(tree).resolve().is_relative_to(name) for tree in trees):
            command("mount", "-t", "tmpfs", "tmpfs", name)
            return Path(name)
    raise Unavailable("no place for a folder of all hosts in /mnt, /media or /srv")


def burst(rate):
    """The bytes that a rate of tc, such as 10gbit, sends in 250 us, which is how late a timer may be; at least 16 KiB."""
    words = re.fullmatch(r"([\d.]+)([kmgt]?)bit", rate.lower())
    if not words:
        raise Unavailable(f"rate {rate}: it has to be in bits, such as 1gbit")
    return str(max(16 << 10, int(float(words[1]) * 1000 ** " kmgt".index(words[2] or " ") * 250e-6 / 8)))


class Host:
    """A first process that sleeps, in namespaces of its own: network, names, PIDs, /proc, /sys, /dev/shm and /tmp."""

    def __init__(self, number, hide):
        self.name = f"pwhost{number}"
        self.address = f"{NET}.{number}"
        setup = f"hostname {self.name}; mount -t sysfs sysfs /sys; "
        setup += "".join(f"mount -t tmpfs -o mode=1777 tmpfs {folder}; " for folder in hide)
        self.process = subprocess.Popen(["unshare", *NAMESPACES, "sh", "-ec", setup + "echo ready; exec sleep infinity"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise Unavailable(f"{self.name}: {self.process.stderr.read().strip()}")
        self.first = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def run(self, *words, check=True):
        words = ["nsenter", "--target", str(self.first), "--mount", "--uts", "--ipc", "--net", "--pid", "--", *words]
        return command(*words) if check else subprocess.run(words, capture_output=True, text=True).stdout

    def connect(self, number):
        """A cable from the host's eth0 to the bridge."""
        command("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", str(self.first))
        command("ip", "link", "set", f"port{number}", "master", "bridge", "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def shape(self, rate, delay):
        """What leaves the host is sent at this rate and arrives that much later."""
        if delay:
            self.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", *(["rate", rate] if rate else []), "delay", delay)
        elif rate:
            self.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", burst(rate), "latency", "50ms")

    def number_from(self, pid):
        """The next process of the host gets the number after `pid`: so ranks of several hosts have equal numbers."""
        self.run("sh", "-c", f"echo {pid} >/proc/sys/kernel/ns_last_pid", check=False)

    def clear(self):
        """Ends all processes but the first one."""
        self.run("sh", "-c", "kill -9 -1", check=False)


def reap():
    """Collects what processes of launchers have left to the first process, which this one is."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Network:
    def __init__(self, hosts, rate, delay, root, build):
        self.folder = shared_folder(root, build)
        (self.folder / "scratch").mkdir(mode=0o777)
        (self.folder / "hosts").mkdir()
        command("hostname", LAUNCHER)
        command("mount", "-t", "sysfs", "sysfs", "/sys")
        names = {f"{NET}.{n}": f"pwhost{n}" for n in range(1, hosts + 1)}
        lines = "".join(f"{address} {name}\n" for address, name in {f"{NET}.254": LAUNCHER, **names}.items())
        (self.folder / "etc_hosts").write_text("127.0.0.1 localhost\n" + lines)
        command("mount", "--bind", str(self.folder / "etc_hosts"), "/etc/hosts")
        self.bridge()
        trees = [Path(root).resolve(), Path(build).resolve(), Path(sys.executable).resolve()]
        hide = ["/dev/shm"] + ([] if any(tree.is_relative_to("/tmp") for tree in trees) else ["/tmp"])
        self.hosts = [Host(n, hide) for n in range(1, hosts + 1)]
        for n, host in enumerate(self.hosts, 1):
            host.connect(n)
            host.shape(rate, delay)
            (self.folder / "hosts" / host.name).write_text(f"{host.first}\n")
        self.wait()

    def bridge(self):
        command("ip", "link", "set", "lo", "up")
        command("ip", "link", "add", "bridge", "type", "bridge")
        command("ip", "address", "add", f"{NET}.254/24", "dev", "bridge")
        command("ip", "link", "set", "bridge", "up")

    def wait(self):
        """Until the bridge's ports forward."""
        end = time.monotonic() + 5
        for number in range(1, len(self.hosts) + 1):
            state = Path(f"/sys/class/net/port{number}/brport/state")
            while state.read_text().strip() != "3":
                if time.monotonic() > end:
                    raise Unavailable(f"port {number} of the bridge does not forward")
                time.sleep(0.01)

    def environment(self, here):
        """What lets the launchers of both MPIs start ranks in turn on the hosts; commands are the same as on one node."""
        hydra, ompi = self.folder / "hydra", self.folder / "openmpi"
        hydra.write_text("".join(f"{host.name}:1\n" for host in self.hosts))
        ompi.write_text("".join(f"{host.name} slots=16\n" for host in self.hosts))
        enter = str(here / "enter")
        return {
            "PW_HOSTS": str(self.folder / "hosts"),
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": enter, "HYDRA_HOST_FILE": str(hydra), "HYDRA_IFACE": "bridge",
            "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": enter, "OMPI_MCA_orte_default_hostfile": str(ompi),
            "OMPI_MCA_rmaps_base_mapping_policy": "node:oversubscribe", "OMPI_MCA_btl": "self,vader,tcp",
            "OMPI_MCA_osc": "sm,pt2pt",  # osc/rdma of 4.1 wants windows over TCP, and cannot make them
            "OMPI_MCA_btl_tcp_if_include": f"{NET}.0/24", "OMPI_MCA_oob_tcp_if_include": f"{NET}.0/24",
        }
