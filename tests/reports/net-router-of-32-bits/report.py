about("A router whose interface counts in 32 bits: 4,258,368,365 bytes, then 44,815,312",
      ("https://github.com/openwrt/luci/issues/2659", "https://github.com/taffybar/taffybar/pull/112"), start="right")
cpus("1")


def net(rx):
    return f"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n  eth0: {rx} 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"


put("proc/net/dev", net(4258368365))
record("--sources=netdev")
for rx in (44815312, 227007324):
    step({"proc/net/dev": net(rx)})
expect("--show=netdev.*", "netdev.rx_bytes", "device eth0", ["reset", 182192012],
       "nothing tells a wrap at 2^32 from a reset, as the next machine counts in 64 bits: neither -4.2 GB nor 1.8e19 bytes")
