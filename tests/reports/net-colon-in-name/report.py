about("Interfaces whose names have a colon: aliases of old kernels, and what `ip link add team0:1` made",
      ("https://github.com/shirou/gopsutil/pull/317", "https://github.com/prometheus/procfs/pull/421",
       "https://github.com/prometheus/node_exporter/pull/904"), start="right")
cpus("1")


def net(a, b):
    return (f"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n  eth0: {a} 10 0 0 0 0 0 0 {a} 10 0 0 0 0 0 0\n"
            f"tun10001:1:     {b} 1 0 0 0 0 0 0 {2 * b} 1 0 0 0 0 0 0\n")


put("proc/net/dev", net(1000, 50))
record("--sources=netdev")
step({"proc/net/dev": net(2000, 150)})
expect("--show=netdev.*", "netdev.rx_bytes", "device tun10001:1", 100, "50 to 150")
expect("--show=netdev.*", "netdev.tx_bytes", "device tun10001:1", 200, "100 to 300")
expect("--show=netdev.*", "netdev.rx_bytes", "device eth0", 1000, "1,000 to 2,000")
