#include "report/html/html_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Length of the UTF-8 character at `p` (at least one byte is there), 0 if it is none; its number in *c. */
static size_t utf8(const unsigned char *p, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;

	if (!n)
		return 0;
	*c = n == 1 ? *p : *p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* What is not seen, or makes what stands beside it be seen elsewhere. */
static bool is_hidden(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void html_text(struct buf *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t c = 0;

	while (*p) {
		size_t n = utf8(p, &c);

		if (!n) {
			buf_addstr(out, "\xef\xbf\xbd");
			p++;
			continue;
		}
		if (c == '<')
			buf_addstr(out, "&lt;");
		else if (c == '>')
			buf_addstr(out, "&gt;");
		else if (c == '&')
			buf_addstr(out, "&amp;");
		else if (c == '"')
			buf_addstr(out, "&quot;");
		else if (c == '\'')
			buf_addstr(out, "&#39;");
		else if (is_hidden(c))
			buf_printf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
		else
			buf_add(out, p, n);
		p += n;
	}
}

void html_printf(struct buf *out, const char *format, ...)
{
	struct buf plain = BUF_INIT;
	va_list ap;

	va_start(ap, format);
	buf_vprintf(&plain, format, ap);
	va_end(ap);
	html_text(out, buf_str(&plain));
	if (plain.err && !out->err)
		out->err = plain.err;
	buf_release(&plain);
}

/* In JSON these characters occur in strings only, so they may be written in another way wherever they are. */
static void add_safe(struct buf *out, const struct buf *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->len; i++) {
		const uint8_t *p = json->data + i;
		bool line = *p == 0xe2 && i + 2 < json->len && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9);

		if (!line && *p != '<' && *p != '>' && *p != '&')
			continue;
		buf_add(out, json->data + from, i - from);
		buf_printf(out, "\\u%04x", line ? 0x2000u + (p[2] - 0x80u) : *p);
		i += line ? 2 : 0;
		from = i + 1;
	}
	buf_add(out, json->data + from, json->len - from);
	if (json->err && !out->err)
		out->err = json->err;
}

void html_json_text(struct buf *out, const char *text)
{
	struct buf plain = BUF_INIT;

	json_quote(&plain, text, strlen(text));
	add_safe(out, &plain);
	buf_release(&plain);
}

/* ---- of what may be long ---- */

/* 0: it is short enough. */
static int cut(const char *text, size_t most, struct buf *head)
{
	size_t len = strnlen(text, most + 1);

	if (len <= most)
		return 0;
	/* Never within a character. */
	for (len = most; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	buf_add(head, text, len);
	buf_addstr(head, "\xe2\x80\xa6");
	return 1;
}

void html_text_cut(struct buf *out, const char *text, size_t most)
{
	struct buf head = BUF_INIT;

	html_text(out, cut(text, most, &head) ? buf_str(&head) : text);
	out->err = out->err ? out->err : head.err;
	buf_release(&head);
}

void html_json_text_cut(struct buf *out, const char *text, size_t most)
{
	struct buf head = BUF_INIT;

	html_json_text(out, cut(text, most, &head) ? buf_str(&head) : text);
	out->err = out->err ? out->err : head.err;
	buf_release(&head);
}

/* ---- base64 ---- */

void html_base64(struct buf *out, const void *data, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t room = (size_t)html_base64_length(len);
	const uint8_t *p = data;
	char *to;

	if (!len || buf_reserve(out, room))
		return;
	to = (char *)out->data + out->len;
	for (; len >= 3; len -= 3, p += 3) {
		*to++ = digit[p[0] >> 2];
		*to++ = digit[(p[0] << 4 | p[1] >> 4) & 63];
		*to++ = digit[(p[1] << 2 | p[2] >> 6) & 63];
		*to++ = digit[p[2] & 63];
	}
	if (len) {
		*to++ = digit[p[0] >> 2];
		*to++ = digit[(p[0] << 4 | (len > 1 ? p[1] >> 4 : 0)) & 63];
		*to++ = len > 1 ? digit[p[1] << 2 & 63] : '=';
		*to++ = '=';
	}
	out->len += room;
}

/* ---- SHA-256 ---- */

static const uint32_t sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

static void sha_block(uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, h, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t t1 = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
			      sha_k[i] + w[i];
		uint32_t t2 =
			(rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

void html_sha256(const void *data, size_t len, uint8_t digest[32])
{
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	const uint8_t *p = data;
	uint8_t tail[128] = { 0 };
	size_t rest = len % 64, tail_len = rest < 56 ? 64 : 128;

	for (size_t i = 0; i + 64 <= len; i += 64)
		sha_block(h, p + i);
	if (rest)
		memcpy(tail, p + len - rest, rest);
	tail[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		tail[tail_len - 1 - (size_t)i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	for (size_t i = 0; i < tail_len; i += 64)
		sha_block(h, tail + i);
	for (int i = 0; i < 32; i++)
		digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
