about("/proc/net/dev shows 0 for an interface in one reading, and its old numbers in the next",
      "https://github.com/netdata/netdata/issues/6077",
      start="wrong: 5,000,003,000 bytes `ok` in the interval behind the 0, where 2,000 came in both",
      repaired="what is back above where it was before a fall had not fallen: both intervals are `reset`")
cpus("1")


def net(rx):
    return f"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n  eth0: {rx} 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"


put("proc/net/dev", net(5000000000))
record("--sources=netdev")
for rx in (5000001000, 0, 5000003000, 5000004000):
    step({"proc/net/dev": net(rx)})
expect("--show=netdev.rx_bytes", "netdev.rx_bytes", "device eth0", [1000, "reset", "reset", 1000],
       "the 0 was none: neither the fall nor the rise is traffic")
