#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Reads one character of UTF-8. Returns its bytes, or 0 when they are invalid
 * (overlong, surrogate, past U+10FFFF, cut short).
 */
static size_t decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n;
	uint32_t c;

	if (!len)
		return 0;
	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	n = s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
	if (!n || s[0] >= 0xf8 || n > len)
		return 0;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

bool text_is_utf8(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	while (len) {
		uint32_t c;
		size_t n = decode(p, len, &c);
		if (!n)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

char *text_to_utf8(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	struct buf out = {0};

	while (len) {
		uint32_t c;
		size_t n = decode(p, len, &c);
		if (n && c)
			buf_add(&out, p, n);
		else
			buf_puts(&out, "\xef\xbf\xbd");
		n = n ? n : 1;
		p += n;
		len -= n;
	}
	return buf_take(&out);
}

/* Controls, and the characters that reorder or hide the text around them. */
static bool unseen(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
	        (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	        (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static char *visible(const char *s, size_t len, bool keep_tabs)
{
	const unsigned char *p = (const unsigned char *)s;
	struct buf out = {0};

	while (len) {
		uint32_t c = 0;
		size_t n = decode(p, len, &c);

		if (!n)
			buf_printf(&out, "\\x%02X", p[0]);
		else if (c == '\t' && keep_tabs)
			buf_putc(&out, '\t');
		else if (c < 0x80 && unseen(c))
			buf_printf(&out, "\\x%02X", (unsigned)c);
		else if (unseen(c))
			buf_printf(&out, "\\u{%X}", (unsigned)c);
		else
			buf_add(&out, p, n);
		n = n ? n : 1;
		p += n;
		len -= n;
	}
	return buf_take(&out);
}

char *text_visible(const char *s)
{
	return visible(s, strlen(s), false);
}

char *text_visible_line(const char *s, size_t len)
{
	return visible(s, len, true);
}

/* East Asian wide and emoji blocks: enough for columns that line up. */
static bool is_wide(uint32_t c)
{
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	        (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	        (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1f64f) ||
	        (c >= 0x1f900 && c <= 0x1f9ff) || (c >= 0x20000 && c <= 0x3fffd);
}

size_t text_width(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = strlen(s), width = 0;

	while (len) {
		uint32_t c = 0;
		size_t n = decode(p, len, &c);

		if (!(n &&
		            ((c >= 0x300 && c <= 0x36f) || c == 0x200d ||
		                    (c >= 0xfe00 && c <= 0xfe0f))))
			width += n && is_wide(c) ? 2 : 1;
		n = n ? n : 1;
		p += n;
		len -= n;
	}
	return width;
}

char *text_base64(const void *data, size_t len)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	struct buf out = {0};

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;
		if (i + 1 < len)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			v |= p[i + 2];
		buf_putc(&out, digits[v >> 18]);
		buf_putc(&out, digits[v >> 12 & 63]);
		buf_putc(&out, i + 1 < len ? digits[v >> 6 & 63] : '=');
		buf_putc(&out, i + 2 < len ? digits[v & 63] : '=');
	}
	return buf_take(&out);
}

char *text_slug(const char *name, size_t max)
{
	const unsigned char *p = (const unsigned char *)name;
	size_t len = strlen(name);
	struct buf out = {0};
	bool gap = false;

	while (len) {
		uint32_t c = 0;
		size_t n = decode(p, len, &c);
		bool keep =
		        n && (c >= 0x80 ? !unseen(c) && c != 0xa0 && c != 0x3000 : isalnum((int)c));

		n = n ? n : 1;
		if (keep) {
			size_t need = n + (gap && out.len);
			if (out.len + need > max)
				break;
			if (gap && out.len)
				buf_putc(&out, '-');
			if (c < 0x80)
				buf_putc(&out, (char)tolower((int)c));
			else
				buf_add(&out, p, n);
			gap = false;
		} else {
			gap = true;
		}
		p += n;
		len -= n;
	}
	return buf_take(&out);
}

bool text_duration(const char *s, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	int64_t n = 0;
	const char *p = s;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
		        __builtin_add_overflow(n, (int64_t)(*p - '0'), &n))
			return false;
	for (size_t i = 0; i < NELEMS(units); i++)
		if (strcmp(p, units[i].unit) == 0)
			return !__builtin_mul_overflow(n, units[i].ms, ret_ms);
	return false;
}

char *text_ago(int64_t ms)
{
	int64_t s = ms / 1000;

	if (ms < 0)
		ms = s = 0;
	if (ms < 1000)
		return xasprintf("%d ms", (int)ms);
	if (s < 60)
		return xasprintf("%d s", (int)s);
	if (s < 3600)
		return s % 60 ? xasprintf("%d m %d s", (int)(s / 60), (int)(s % 60))
		              : xasprintf("%d m", (int)(s / 60));
	if (s < 2 * 86400)
		return s / 60 % 60 ? xasprintf("%d h %d m", (int)(s / 3600), (int)(s / 60 % 60))
		                   : xasprintf("%d h", (int)(s / 3600));
	return xasprintf("%lld d", (long long)(s / 86400));
}

bool text_int(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	char *end;
	long long n;

	if (!isdigit((unsigned char)s[s[0] == '-']))
		return false;
	errno = 0;
	n = strtoll(s, &end, 10);
	if (errno || *end || n < min || n > max)
		return false;
	*ret = n;
	return true;
}

bool text_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix)
{
	size_t a = strlen(s), b = strlen(suffix);

	return a >= b && memcmp(s + a - b, suffix, b) == 0;
}

bool text_is_hex(const char *s, size_t len)
{
	return strlen(s) == len && strspn(s, "0123456789abcdef") == len;
}

char *text_shell_quote(const char *s)
{
	struct buf out = {0};

	if (*s &&
	        strspn(s,
	                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	                "@%_+=:,./-") == strlen(s))
		return xstrdup(s);
	buf_putc(&out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_puts(&out, "'\\''");
		else
			buf_putc(&out, *s);
	}
	buf_putc(&out, '\'');
	return buf_take(&out);
}
