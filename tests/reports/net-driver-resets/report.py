about("A driver resets an interface: its counters start again at 0",
      ("https://github.com/python-diamond/Diamond/issues/663", "https://github.com/elastic/kibana/issues/160392"), start="right")
cpus("1")


def net(rx):
    return f"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n  eth0: {rx} 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"


put("proc/net/dev", net(5000000000))
record("--sources=netdev")
for rx in (5000001000, 300, 1300):
    step({"proc/net/dev": net(rx)})
expect("--show=netdev.*", "netdev.rx_bytes", "device eth0", [1000, "reset", 1000], "what came before the reset is unknown")
expect("--show=netdev.*", "netdev.rx_packets", "device eth0", 0, "it has not counted")
expect("--show=netdev.* --total", "netdev.rx_bytes", "device eth0", Value(2000, status="partial"), "what is known")
