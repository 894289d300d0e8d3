about("Old kernels, and emulations of /proc, print no blank between an interface and a number of eight digits or more",
      ("https://github.com/shirou/gopsutil/issues/377", "https://github.com/giampaolo/psutil/issues/263",
       "https://github.com/saltstack/salt/issues/14365"),
      start="wrong: an interface `eth0:4046496815`, whose columns are shifted and which is gone in the next reading",
      repaired="a label ends at its colon")
cpus("1")
HEAD = "Inter-|   Receive |  Transmit\n face |bytes    packets errs drop|bytes    packets errs drop\n"


def net(rx, tx):
    return f"{HEAD}    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n  eth0:{rx} 27661328 0 0 0 0 0 0 {tx} 32419766 0 0 0 0 0 0\n"


put("proc/net/dev", net(4046496815, 61800195044))
record("--sources=netdev")
step({"proc/net/dev": net(4046499815, 61800196044)})
expect("--show=netdev.*", "netdev.rx_bytes", "device eth0", 3000, "4046496815 to 4046499815")
expect("--show=netdev.*", "netdev.tx_bytes", "device eth0", 1000, "61800195044 to 61800196044")
expect("--show=netdev.*", "netdev.rx_bytes", "system", 3000, "lo has not counted")
