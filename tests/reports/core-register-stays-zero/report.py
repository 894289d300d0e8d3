about("i5-4570 whose register of the cores' energy answers, and stays 0, while the package takes 253 kJ",
      "https://github.com/Yamagi/powermon/issues/1", start="wrong: 0 J `ok` of cores that work",
      repaired="Take a register of energy that stays 0 for one that is not there")
cpus("4")
processor("intel", 6, 0x3C)
msr(0x10, 1000, rate="1.0t")
msr(0x606, 0xA0E03)
msr(0x611, 0xF7121ED1, width=32)
msr(0x639, 0, width=32)
record("--sources=msr")
step({0x611: 0xF7121ED1 + 3 * 2**14}, .3)
expect("--Joules", "pkg_j", "package 0", 3, "3 x 2^14 units of 2^-14 J")
expect("--Joules --show=Cor_J,Pkg_J", "cor_j", "system", "suspect", "four cores that work take energy: it is not counted")
