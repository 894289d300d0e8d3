#!/usr/bin/env bats
# Pages: their structure, what is escaped in them, how large they get, and what is refused. What they look like and do
# is tests/browser.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
}

# page.py FILE WHAT: looks at a page as a browser's parser does, by another program.
look() {
	python3 - "$@" <<'PYTHON'
import base64, hashlib, html.parser, json, re, sys

class Page(html.parser.HTMLParser):
    CDATA_CONTENT_ELEMENTS = ("script", "style")
    VOID = {"meta", "br", "input", "link", "img", "hr"}
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.blocks, self.stack, self.ids, self.faults = [], {}, [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"not closed: {tag}" for tag in self.stack]
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        self.faults += [f"handler {name}" for name in attrs if name.startswith("on")]
        self.faults += ["style attribute" for name in attrs if name == "style"]
        if tag in ("script", "style"):
            self.blocks.append((tag, attrs, ""))
        if tag not in self.VOID:
            self.stack.append(tag)
    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(f"nesting at </{tag}>")
    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("script", "style"):
            tag, attrs, text = self.blocks[-1]
            self.blocks[-1] = (tag, attrs, text + data)
        else:
            self.text.setdefault(self.stack[-1] if self.stack else "", []).append(data)

text = open(sys.argv[1], newline="", encoding="utf-8").read()
page = Page(text)
what = sys.argv[2]
policy = next(a["content"] for t, a in page.tags if a.get("http-equiv", "").lower() == "content-security-policy")
block = {a.get("id", ""): t for k, a, t in page.blocks if k == "script"}
data = json.loads(block["data"])
numbers = base64.b64decode(block["numbers"], validate=True)
if what == "structure":
    assert not page.faults, page.faults
    assert len(page.ids) == len(set(page.ids))
    assert [t for t, _ in page.tags].count("h1") == 1
    for _, a in page.tags:
        if a.get("href", "").startswith("#"):
            assert a["href"][1:] in page.ids, a
    loading = {"src", "srcset", "href", "action", "data", "poster", "background", "xlink:href", "formaction"}
    for t, a in page.tags:
        assert t not in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"), t
        for name in loading & a.keys():
            assert a[name].startswith("#") or a[name].startswith("data:"), (t, a)
elif what == "policy":
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'" and rules["form-action"] == "'none'"
    assert "unsafe" not in policy and "*" not in policy
    def digest(t):
        return "'sha256-" + base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() + "'"
    scripts = [digest(t) for k, a, t in page.blocks if k == "script" and "type" not in a]
    styles = [digest(t) for k, a, t in page.blocks if k == "style"]
    assert sorted(scripts) == sorted(rules["script-src"].split()) and scripts
    assert sorted(styles) == sorted(rules["style-src"].split()) and styles
elif what == "schemes":
    # The one address is in the comment in which uPlot says what it is.
    rest = re.sub(r"/\*! https://github\.com/leeoniya/uPlot \(v[0-9.]+\) \*/", "", text)
    found = [m for m in re.findall(r"\b([a-z][a-z0-9+.-]*)://", rest)]
    assert not found, found
elif what == "sizes":
    want = 0
    for r in data["recordings"]:
        for s in (r["near"], r["far"]):
            want += len(s["list"]) * s["buckets"] * s["bytes"] * (3 if s["band"] else 1)
    assert len(numbers) == want, (len(numbers), want)
    print(*(f"{r[s]['buckets']} {r[s]['bytes']} {int(r[s]['band'])} {len(r[s]['list'])}" for r in data["recordings"]
            for s in ("near", "far")), sep="\n")
elif what == "mean":
    # Means of the numbers themselves, by metric and place.
    r = data["recordings"][0]
    s, at = r[sys.argv[3]], 0
    at = s["offset"]
    size = s["buckets"] * s["bytes"] * (3 if s["band"] else 1)
    for i, (metric, row, low, high, mean) in enumerate(s["list"]):
        if r["metrics"][metric]["name"] != sys.argv[4] or r["rows"][row]["label"] != sys.argv[5]:
            continue
        n = [int.from_bytes(numbers[at + i * size + k * s["bytes"]:][:s["bytes"]], "little") for k in range(s["buckets"])]
        top = 254 if s["bytes"] == 1 else 65534
        there = [low + (v - 1) / top * (high - low) for v in n if v]
        print(f"{sum(there) / len(there):.1f} {mean} {n.count(0)}")
elif what == "each":
    # Of several recordings each has something to say under its name.
    names = re.findall(r"<div><h3><i class=\"swatch s\d\"></i>([^<]*)</h3>\s*(?=<(?!/div>))", text)
    assert names == sys.argv[3:] * (len(names) // len(sys.argv[3:])) and names, names
    assert len(names) == text.count("<div><h3>"), names
elif what == "text":
    print("\n".join("".join(v) for v in page.text.values()))
PYTHON
}

hostile=$'</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"\'\`&amp;\xe2\x80\xa8\xe2\x80\xae\x1b[31m,=1+1'

@test "a page is well formed, loads nothing and lets nothing run but its own scripts" {
	for sample in loaded command offline; do
		"$bin/pmrep" html -o $sample.html "$source/samples/$sample.pmr"
		look $sample.html structure
		look $sample.html policy
		look $sample.html schemes
		look $sample.html sizes >/dev/null
	done
	"$bin/pmrep" html -o two.html "$source/samples/idle.pmr" "$source/samples/loaded.pmr"
	look two.html structure
	look two.html policy
	look two.html sizes >/dev/null
	look two.html each idle.pmr loaded.pmr
}

@test "numbers are those of the recording" {
	"$tests/make_page" r.pmr 600
	"$bin/pmrep" html -o r.html r.pmr
	[ "$(look r.html mean far bench.even 'CPU 11')" = "5000.0 5000 0" ]
	[ "$(look r.html mean near bench.even 'package 1')" = "12000.0 12000 0" ]
	# CPU 5 is away from 120 s to 240 s, and its first reading afterwards begins an interval.
	missing=$(look r.html mean far bench.level 'CPU 5')
	[[ $missing == "45.0 45 "* ]]
	[ "${missing##* }" -ge 119 ]
	[ "${missing##* }" -le 122 ]
	look r.html text >text
	grep -q 'marker: phase two' text
	grep -q 'cpu-offline CPU 5' text
	grep -q 'lost 29 ticks' text
	grep -q '+300.000 s to +330.000 s' text
}

@test "means of a page are those of show" {
	"$tests/make_page" r.pmr 100
	"$bin/pmrep" html -o r.html r.pmr
	want=$("$bin/pmrep" --total --rate --per-package --format=csv r.pmr | awk -F, '$16 == "bench.wave" && $6 == 1 { print $17 }')
	look r.html text >text
	[ -n "$want" ]
	[ "$(look r.html mean near bench.wave 'package 1' | cut -d' ' -f2)" = "$want" ]
}

@test "hostile texts are text" {
	"$tests/make_page" hostile.pmr 60 "$hostile"
	"$bin/pmrep" html -o hostile.html hostile.pmr
	look hostile.html structure
	look hostile.html policy
	look hostile.html text >text
	# Every field, as it was, with what is invisible made visible.
	grep -qF 'host</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"' text
	grep -qF '\u2028\u202e\x1b[31m' text
	grep -qF 'phase two</script>' text
	# No byte that a terminal or a script would obey.
	run grep -c $'\x1b\|\xe2\x80\xa8\|\xe2\x80\xae' hostile.html
	[ "$output" = 0 ]
	run grep -oF '<script>alert' hostile.html
	[ -z "$output" ]
	# In the name of the file, too.
	cp hostile.pmr '<b>&"x.pmr'
	"$bin/pmrep" html -o name.html '<b>&"x.pmr'
	look name.html structure
	grep -qF '&lt;b&gt;&amp;&quot;x.pmr' name.html
}

@test "a page fits, and says what was reduced for it" {
	"$tests/make_page" r.pmr 4000
	"$bin/pmrep" html -o all.html r.pmr
	all=$(stat -c %s all.html)
	last=$all
	for size in 500k 300k 200k; do
		run --separate-stderr "$bin/pmrep" html --max-size=$size -o $size.html r.pmr
		[ "$status" -eq 0 ]
		bytes=$(stat -c %s $size.html)
		[ "$bytes" -le "${size%k}000" ]
		[ "$bytes" -le "$last" ]
		last=$bytes
		look $size.html structure
		look $size.html sizes >/dev/null
		[ "$bytes" -eq "$all" ] || {
			[[ $stderr == *"reduced: "* ]]
			look $size.html text | grep -q 'Reduced, so that the page is small enough'
		}
	done
	# Coarser, and still the same.
	[[ $(look 200k.html mean near bench.even 'package 1') == "12000.0 12000 0" ]]
}

@test "a page that cannot be so small is not written" {
	"$tests/make_page" r.pmr 600
	run --separate-stderr "$bin/pmrep" html --max-size=20k -o small.html r.pmr
	[ "$status" -eq 2 ]
	[[ $stderr == *"at least"*"--max-size"* ]]
	[ ! -e small.html ]
	least=$(grep -oE '[0-9.]+ [kM]B' <<<"$stderr" | tr -d ' B')
	"$bin/pmrep" html --max-size="$least" -o small.html r.pmr
	run --separate-stderr "$bin/pmrep" html --max-size=1G -o large.html r.pmr
	[ "$status" -eq 2 ]
	[[ $stderr == *"browsers cannot"* ]]
}

@test "which metrics, and which time" {
	"$tests/make_page" r.pmr 600
	"$bin/pmrep" html --show=bench.even --since=425 --until=475 -o r.html r.pmr
	[ "$(look r.html mean near bench.even 'package 1')" = "12000.0 12000 0" ]
	[ -z "$(look r.html mean near bench.wave 'package 1')" ]
	[ "$(look r.html sizes | head -n 1 | cut -d' ' -f1)" -le 51 ]
	# What is not drawn is in the table.
	look r.html text | grep -q bench.wave
}

@test "the page says all that info says" {
	for sample in loaded tegra410-pair command; do
		"$bin/pmrep" html -o $sample.html "$source/samples/$sample.pmr"
		look $sample.html text | tr -s ' \n' ' ' >text
		"$bin/pmrep" info --all --format=json "$source/samples/$sample.pmr" >info.json
		# Skews and sizes as text; PMUs, refusals and settings by the other program's own reading of the file.
		"$bin/pmrep" info "$source/samples/$sample.pmr" >info.txt
		grep -E '^(size|bytes per snapshot|behind the tick|perf .*median|counter )' info.txt | tr -s ' ' ' ' >wanted
		[ "$(wc -l <wanted)" -ge 4 ]
		python3 - "$sample" <<'PYTHON'
import json, sys
page, info = open("text").read(), json.load(open("info.json"))
for line in open("wanted"):
    for word in line.split("  [")[0].split():
        assert word in page, (line, word)
for pmu in info.get("pmus", []):
    for word in [pmu["name"]] + ["%d named event" % len(pmu.get("events", []))] * ("events" in pmu):
        assert word in page, (pmu["name"], word)
for name, value in info["host"].items():
    value = value.get("value") if isinstance(value, dict) else value
    assert name in page, name
    if isinstance(value, str):
        assert value in page, (name, value)
PYTHON
	done
}

@test "which command, and how it ended" {
	while IFS='|' read -r runs privacy script counted; do
		"$bin/pmrec" -q --overwrite -o r.pmr -i 0 -r "$runs" --privacy="$privacy" -- sh -c "$script" </dev/null || true
		"$bin/pmrep" html --overwrite -o r.html r.pmr
		look r.html text | grep -qF "command: sh$counted"
	done <<-'LINES'
		1|default|exit 3|, exit status 3
		1|full|exit 0| -c exit 0, exit status 0
		1|default|kill $$|, killed by signal 15
		2|default|exit 0|, 2 runs, each with exit status 0
		3|default|mkdir x|, 3 runs, 2 of which failed
	LINES
	# A recording without an interval has no time of its own: it begins where the one before it ends, after 10 s.
	"$bin/pmrep" cut --until=0 -o one.pmr "$source/samples/command.pmr"
	cat "$source/samples/idle.pmr" one.pmr >two.pmr
	"$bin/pmrep" html -o two.html two.pmr
	grep -q '>+11.000 s</button></td><td>child-start' two.html
}

@test "so many metrics that words alone fill a page" {
	"$tests/genrec" wide 20000 wide.pmr
	run --separate-stderr "$bin/pmrep" html --max-size=1M -o wide.html wide.pmr
	[ "$status" -eq 0 ]
	[ "$(stat -c %s wide.html)" -le 1000000 ]
	# Half of it at least is made use of.
	[ "$(stat -c %s wide.html)" -ge 500000 ]
	look wide.html structure
	look wide.html sizes >sizes
	drawn=$(grep -oE '[0-9]+ of 20000 metrics are drawn' <<<"$stderr" | cut -d' ' -f1)
	listed=$(grep -oE 'has [0-9]+ of 20000 rows' <<<"$stderr" | cut -d' ' -f2)
	# What is said is what is there.
	[ "$(head -n 1 sizes | cut -d' ' -f4)" -eq "$drawn" ]
	[ "$(grep -c '<tr><th scope=row title="[^"]*"><code>' wide.html)" -eq "$listed" ]
	look wide.html text | grep -q "$drawn of 20000 metrics are drawn"
	"$bin/pmrep" html --max-size=1M --show=bench.c19999 -o one.html wide.pmr
	[ -n "$(look one.html mean near bench.c19999 system)" ]
}

@test "a stream has facts and verdicts, too" {
	"$bin/pmrep" html -o - - <"$source/samples/loaded.pmr" | sed 's/standard input/loaded.pmr/g' >stream.html
	"$bin/pmrep" html -o file.html "$source/samples/loaded.pmr"
	cmp stream.html file.html
	cat "$source/samples/loaded.pmr" | "$bin/pmrep" html -o two.html "$source/samples/idle.pmr" -
	look two.html structure
	look two.html text >text
	grep -q INCONCLUSIVE text
	! grep -q '/proc/self' two.html || false
}

@test "streams, gzip, and outputs" {
	"$bin/pmrep" html -o - - <"$source/samples/loaded.pmr" >stream.html
	look stream.html structure
	gzip -c "$source/samples/loaded.pmr" >r.pmr.gz
	"$bin/pmrep" html -o gz.html r.pmr.gz
	look gz.html structure
	run --separate-stderr "$bin/pmrep" html -o gz.html r.pmr.gz
	[ "$status" -eq 2 ]
	[[ $stderr == *"--overwrite"* ]]
	"$bin/pmrep" html --overwrite -o gz.html r.pmr.gz
	cp r.pmr.gz kept
	run --separate-stderr "$bin/pmrep" html --overwrite -o r.pmr.gz r.pmr.gz
	[ "$status" -eq 2 ]
	cmp kept r.pmr.gz
	[ ! -e /dev/full ] || {
		run --separate-stderr "$bin/pmrep" html -o /dev/full r.pmr.gz
		[ "$status" -eq 2 ]
	}
}

@test "damaged and cut recordings: what is readable, and where it is not" {
	"$tests/make_page" r.pmr 300
	size=$(stat -c %s r.pmr)
	cp r.pmr hole.pmr
	dd if=/dev/urandom of=hole.pmr bs=1 count=600 seek=$((size / 2)) conv=notrunc status=none
	run --separate-stderr "$bin/pmrep" html -o hole.html hole.pmr
	[ "$status" -eq 3 ]
	look hole.html structure
	look hole.html text >text
	grep -q 'damaged' text
	head -c $((size * 2 / 3)) r.pmr >cut.pmr
	run --separate-stderr "$bin/pmrep" html -o cut.html cut.pmr
	[ "$status" -eq 3 ]
	look cut.html structure
	: >empty.pmr
	run --separate-stderr "$bin/pmrep" html -o empty.html empty.pmr
	[ "$status" -eq 2 ]
	[ ! -e empty.html ]
}

@test "wrong command lines" {
	for words in "" "-o x.html" "r.pmr" "-o x.html a b c" "-o x.html --max-size=big r.pmr" "-o x.html --since=never r.pmr"; do
		# shellcheck disable=SC2086
		run --separate-stderr "$bin/pmrep" html $words
		[ "$status" -eq 2 ]
		[ -n "$stderr" ]
		[ ! -e x.html ]
	done
}
