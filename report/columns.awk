# Makes pmr-columns(7) of `pmrep list metrics --format=json`, whose objects have one order of keys.

# The text of a key of this line; "" for null.
function field(key, at, text, c, out) {
	at = index($0, "\"" key "\":\"")
	if (!at)
		return ""
	text = substr($0, at + length(key) + 4)
	out = ""
	while ((c = substr(text, 1, 1)) != "\"" && c != "") {
		if (c == "\\") {
			text = substr(text, 2)
			c = substr(text, 1, 1)
		}
		out = out c
		text = substr(text, 2)
	}
	return out
}

# As text of a page: no escapes, and never a request.
function page(text, at) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	while ((at = index(text, "()")))
		text = substr(text, 1, at) "\\&" substr(text, at + 1)
	return (text ~ /^[.']/ ? "\\\\&" : "") text
}

# Lines of text, not of requests, in the width of a page's source.
function fold(text, n, lines, words, k, i, j, out, line) {
	out = ""
	n = split(text, lines, "\n")
	for (i = 1; i < n; i++) {
		if (lines[i] ~ /^[.]/ || length(lines[i]) < 80) {
			out = out lines[i] "\n"
			continue
		}
		k = split(lines[i], words, " ")
		line = words[1]
		for (j = 2; j <= k; j++)
			if (length(line) + length(words[j]) < 78) {
				line = line " " words[j]
			} else {
				out = out line "\n"
				line = (words[j] ~ /^[.\047]/ ? "\\&" : "") words[j]
			}
		out = out line "\n"
	}
	return out
}

# A formula breaks behind its operators and commas.
function formula(text) {
	text = page(text)
	gsub(/[,@()\/=]/, "&\\:", text)
	return text
}

# Which sources a formula reads: what stands before the dot of a counter; all other names are perf events.
function sources(text, out, word, seen, perf, known) {
	split("", seen)
	out = ""
	perf = 0
	gsub(/#[a-z_0-9]+/, " ", text)
	while (match(text, /[A-Za-z_][A-Za-z0-9_.*@:-]*\(?/)) {
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (word ~ /\($/ || word ~ /^(if|else|e[0-9]*)$/)
			continue
		if (word ~ /@/)
			text = substr(text, index(text, "@") + 1)
		if (word ~ /^[a-z_0-9]+\./ && word !~ /@/) {
			sub(/\..*/, "", word)
			if (!(word in seen))
				out = out (out ? ", " : "") word
			seen[word] = 1
		} else {
			perf = 1
		}
	}
	if (perf)
		out = out (out ? ", " : "") "perf"
	return out
}

BEGIN {
	print ".Dd November 22, 2026\n.Dt PMR-COLUMNS 7\n.Os\n.Sh NAME\n.Nm pmr-columns\n.Nd every metric of pmrep"
	print ".Sh DESCRIPTION\nMetrics that are built into\n.Xr pmrep 1 ,\nby name, with the head of the column in tables"
	print ".Pq for turbostat's metrics turbostat's own name ,\nother names that are taken,"
	print "unit, lowest level, sources, and formula.\nAn asterisk stands for each member of a family of counters."
	print ".Xr pmr-numbers 7\nsays what the formulas mean;\n.Cm pmrep list metrics Ar FILE"
	print "lists those that a recording has."
}

{
	category = field("categories")
	sub(/,.*/, "", category)
	if (category == "")
		category = "other"
	if (category != last && !(category in body))
		order[++n] = category
	last = category
	name = field("metric")
	aliases = field("aliases")
	gsub(/,/, ", ", aliases)
	help = field("help")
	gsub(/[.]$/, "", help)
	text = ".It Sy " page(name) "\n" page(help) ".\n.br\nColumn " page(field("column"))
	if (aliases != "")
		text = text ", also " page(aliases)
	text = text "; unit " page(field("unit")) "; scope " field("scope")
	if (field("default") == "yes")
		text = text "; shown by default"
	text = text "; source " sources(field("formula") " " field("otherwise"))
	if (field("family") != "")
		text = text ", one for each of " page(field("family"))
	text = text ".\n.br\n" formula(field("formula")) "\n"
	if (field("otherwise") != "")
		text = text ".br\nElse: " formula(field("otherwise")) "\n"
	body[category] = body[category] text
}

END {
	if (!n)
		exit 1
	for (i = 1; i <= n; i++)
		printf ".Ss %s\n.Bl -tag -width Ds\n%s.El\n", order[i], fold(body[order[i]])
	print ".Sh SEE ALSO\n.Xr pmrep 1 ,\n.Xr pmrep-list 1 ,\n.Xr pmr-numbers 7"
}
