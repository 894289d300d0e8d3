#include "report/machine/value_out.h"

#include <stdio.h>
#include <string.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"

static void add_hex(const struct pm_value *v, struct buf *out)
{
	for (size_t i = 0; i < v->str.len; i++)
		buf_printf(out, "%02x", (unsigned char)v->str.data[i]);
}

void value_text(const struct pm_value *v, struct buf *out)
{
	char number[NUMBER_MAX], key[16];

	switch (v->kind) {
	case PM_VALUE_U64:
		buf_add(out, number, number_u64(number, v->u64));
		break;
	case PM_VALUE_S64:
		buf_add(out, number, number_s64(number, v->s64));
		break;
	case PM_VALUE_F64:
		buf_add(out, number, number_double(number, v->f64));
		break;
	case PM_VALUE_BOOL:
		buf_addstr(out, v->boolean ? "yes" : "no");
		break;
	case PM_VALUE_TEXT:
		buf_add(out, v->str.data, v->str.len);
		break;
	case PM_VALUE_BYTES:
		add_hex(v, out);
		break;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++) {
			const struct pm_value *item = &v->array.item[i];

			if (i)
				buf_addstr(out, ", ");
			if (item->kind == PM_VALUE_ARRAY && item->array.n == 2) {
				value_text(&item->array.item[0], out);
				buf_addch(out, '=');
				value_text(&item->array.item[1], out);
			} else if (item->kind == PM_VALUE_ARRAY) {
				buf_addch(out, '[');
				value_text(item, out);
				buf_addch(out, ']');
			} else {
				value_text(item, out);
			}
		}
		break;
	case PM_VALUE_MAP:
		for (uint32_t i = 0; i < v->map.n; i++) {
			buf_printf(out, "%s%s=", i ? ", " : "", key_name(NULL, v->map.field[i].key, key));
			value_text(&v->map.field[i].value, out);
		}
		break;
	}
}

static struct json *array_json(const struct pm_value *v)
{
	struct json *j = json_new_array();

	for (uint32_t i = 0; i < v->array.n; i++)
		json_push(j, value_json(&v->array.item[i]));
	return j;
}

struct json *value_json(const struct pm_value *v)
{
	SCOPED(buf_release) struct buf hex = BUF_INIT;

	switch (v->kind) {
	case PM_VALUE_U64:
		return json_new_u64(v->u64);
	case PM_VALUE_S64:
		return json_new_s64(v->s64);
	case PM_VALUE_F64:
		return json_new_f64(v->f64);
	case PM_VALUE_BOOL:
		return json_new_bool(v->boolean);
	case PM_VALUE_TEXT:
		return json_new_text(v->str.data);
	case PM_VALUE_BYTES:
		add_hex(v, &hex);
		return json_new_buf(&hex);
	case PM_VALUE_ARRAY:
		return array_json(v);
	case PM_VALUE_MAP:
		return map_json(&v->map, NULL);
	}
	return json_new_null();
}

const char *key_name(const struct pm_key_row *rows, uint32_t key, char buf[static 16])
{
	const struct pm_key_row *row = rows ? pm_key_find(rows, key) : NULL;

	if (row)
		return row->name;
	snprintf(buf, 16, "key-%u", key);
	return buf;
}

const struct pm_value *value_shown(const struct pm_key_row *rows, const struct pm_field *f, struct pm_value *made)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	*made = pm_u64(0);
	if (rows != pm_event_keys || f->key != PM_EVENT_KEY_NOTE)
		return &f->value;
	pm_remark_text(&text, &f->value);
	memory_whole(&text);
	*made = pm_text(buf_str(&text));
	memory_checked(made->str.data);
	return made;
}

struct json *map_json(const struct pm_map *m, const struct pm_key_row *rows)
{
	struct json *j = json_new_object();
	char name[16];

	for (uint32_t i = 0; i < m->n; i++) {
		struct pm_value made;

		json_put(j, key_name(rows, m->field[i].key, name),
			 value_json(value_shown(rows, &m->field[i], &made)));
		pm_value_release(&made);
	}
	return j;
}

void map_text(const struct pm_map *m, const struct pm_key_row *rows, struct buf *out)
{
	char name[16];

	for (uint32_t i = 0; i < m->n; i++) {
		struct pm_value made;

		buf_printf(out, "%s%s=", i ? " " : "", key_name(rows, m->field[i].key, name));
		value_text(value_shown(rows, &m->field[i], &made), out);
		pm_value_release(&made);
	}
}

const char *privacy_name(enum pm_privacy privacy)
{
	static const char *const name[] = {
		[PM_PRIVACY_MACHINE] = "machine",
		[PM_PRIVACY_PERSON] = "person",
		[PM_PRIVACY_TIME] = "time",
	};

	return (size_t)privacy < sizeof(name) / sizeof(*name) ? name[privacy] : "person";
}

struct json *time_json(uint64_t wall_ns)
{
	char text[64];

	if (!wall_ns)
		return json_new_null();
	text[number_time(text, wall_ns, 0)] = '\0';
	return json_new_text(text);
}

const char *damage_name(enum pm_damage_kind kind)
{
	static const char *const name[] = {
		[PM_DAMAGE_GARBAGE] = "garbage",     [PM_DAMAGE_CUT] = "cut",
		[PM_DAMAGE_NO_END] = "no-end",       [PM_DAMAGE_LOST] = "lost",
		[PM_DAMAGE_DEPENDENT] = "dependent", [PM_DAMAGE_CONTENT] = "content",
		[PM_DAMAGE_PARTIAL] = "partial",     [PM_DAMAGE_FOREIGN] = "foreign",
	};

	return (size_t)kind < sizeof(name) / sizeof(*name) ? name[kind] : "unknown";
}

static void add_time(struct buf *out, const char *word, uint64_t wall, uint64_t ns)
{
	char text[64];

	if (wall)
		buf_printf(out, "%s%.*s", word, (int)number_time(text, wall, 0), text);
	else if (ns)
		buf_printf(out, "%s%llu.%03u s", word, (unsigned long long)ns / 1000000000,
			   (unsigned)(ns / 1000000 % 1000));
}

void damage_text(const struct pm_damage *d, struct buf *out)
{
	bool partial = d->kind == PM_DAMAGE_PARTIAL;

	if (d->length)
		buf_printf(out, "bytes %llu to ", (unsigned long long)d->offset);
	else
		buf_addstr(out, "at byte ");
	buf_printf(out, "%llu: ", (unsigned long long)(d->offset + d->length));
	text_escape(out, d->text, strlen(d->text));
	if (d->chunks)
		buf_printf(out, "; so %llu intact chunk%s up to byte %llu %s", (unsigned long long)d->chunks,
			   plural(d->chunks), (unsigned long long)d->chunks_end,
			   partial ? "can be read only in part" : "cannot be read");
	if (d->from_ns || d->to_ns)
		buf_addstr(out, d->harmless ? "; no value is lost" :
				partial     ? "; some counters have nothing" :
					      "; nothing");
	if (!d->harmless) {
		add_time(out, d->to_ns ? " from " : " after ", d->from_wall, d->from_ns);
		add_time(out, d->from_ns ? " to " : " before ", d->to_wall, d->to_ns);
	}
	if (d->frames)
		buf_printf(out, "; %llu frame%s lost", (unsigned long long)d->frames, plural(d->frames));
	if (d->snapshots)
		buf_printf(out, "; at least %llu snapshot%s lost", (unsigned long long)d->snapshots,
			   plural(d->snapshots));
}

struct json *damage_json(const struct pm_damage *d, size_t n)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < n; i++, d++) {
		struct json *j = json_new_object();

		json_put(j, "kind", json_new_text(damage_name(d->kind)));
		json_put(j, "offset", json_new_u64(d->offset));
		json_put(j, "length", json_new_u64(d->length));
		json_put(j, "from", time_json(d->from_wall));
		json_put(j, "to", time_json(d->to_wall));
		json_put(j, "from_ns", d->from_ns ? json_new_u64(d->from_ns) : json_new_null());
		json_put(j, "to_ns", d->to_ns ? json_new_u64(d->to_ns) : json_new_null());
		json_put(j, "frames", d->frames ? json_new_u64(d->frames) : json_new_null());
		json_put(j, "chunks", json_new_u64(d->chunks));
		json_put(j, "snapshots", d->snapshots ? json_new_u64(d->snapshots) : json_new_null());
		json_put(j, "text", json_new_text(d->text));
		json_push(list, j);
	}
	return list;
}
