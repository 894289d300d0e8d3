/*
 * Expands the table OPTIONS_DEF into what a program needs, for the struct OPTIONS_INTO: keys KEY_id, options[] for
 * argp, and actions[] for options_take(). A template: included once in the .c file of a program's options, without a
 * guard, below its setters.
 */
#define OPTIONAL OPTION

enum {
	KEY_BEFORE = 0x1ff,
#define HEADING(text)
#define OPTION(id, letter, name, argument, how, hint, help) KEY_##id,
#define ALIAS(name, hint)
#define HIDDEN(name, hint)
#define LETTER(letter)
#include OPTIONS_DEF
#undef HEADING
#undef OPTION
#undef ALIAS
#undef HIDDEN
#undef LETTER
};

#define OPTION_KEY(id, letter) ((letter) ? (letter) : KEY_##id)

static const struct option_action actions[] = {
#define HEADING(text)
#define OPTION(id, letter, name_, argument, how, hint, help) { .key = OPTION_KEY(id, letter), .name = name_, how },
#define ALIAS(name, hint)
#define HIDDEN(name, hint)
#define LETTER(letter)
#include OPTIONS_DEF
#undef OPTION
#undef HEADING
#undef ALIAS
#undef HIDDEN
#undef LETTER
};

#undef OPTIONAL
#define OPTION_ROW(id, letter, name, argument, flags, help) \
	{ name, OPTION_KEY(id, letter), argument, flags, help, 0 },
static const struct argp_option options[] = {
#define HEADING(text)                                       { .doc = (text) },
#define OPTION(id, letter, name, argument, how, hint, help) OPTION_ROW(id, letter, name, argument, 0, help)
#define OPTIONAL(id, letter, name, argument, how, hint, help) \
	OPTION_ROW(id, letter, name, argument, OPTION_ARG_OPTIONAL, help)
#define ALIAS(name, hint)  { name, 0, NULL, OPTION_ALIAS, NULL, 0 },
#define HIDDEN(name, hint) { name, 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
#define LETTER(letter)     { NULL, letter, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
#include OPTIONS_DEF
#undef HEADING
#undef OPTION
#undef OPTIONAL
#undef ALIAS
#undef HIDDEN
#undef LETTER
	{ 0 },
};
