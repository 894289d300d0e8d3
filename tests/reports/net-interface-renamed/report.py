about("An interface is renamed while it is watched: the new name has all bytes of the old one",
      ("https://github.com/vergoh/vnstat/issues/188", "https://github.com/nicolargo/glances/pull/3721"), start="right")
cpus("1")


def net(name, rx):
    return (f"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n    lo: 500 10 0 0 0 0 0 0 500 10 0 0 0 0 0 0\n"
            f"{name}: {rx} 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n")


put("proc/net/dev", net("eth0", 8000000000))
record("--sources=netdev")
for name, rx in (("eth0", 8000001000), ("enp3s0", 8000002000), ("enp3s0", 8000003000), ("enp3s0", 8000004000)):
    step({"proc/net/dev": net(name, rx)})
expect("--show=netdev.rx_bytes", "netdev.rx_bytes", "device eth0", [1000, "gone", "gone", "gone"], "it has gone")
expect("--show=netdev.rx_bytes --total", "netdev.rx_bytes", "system", Between(1000, 4000, status="ok"), "never 8 GB")
