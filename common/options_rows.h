/*
 * Expands the table OPTIONS_DEF into rows[] for the struct OPTIONS_INTO. A template: included once in the .c file of
 * a program's options, without a guard, below its setters.
 */
#define HEADING(text)                                      { .help = text },
#define OPTION(letter, name_, argument_, how, hint, help_) { name_, letter, argument_, help_, how },
#define OPTIONAL(letter, name_, argument_, how, hint, help_) \
	{ name_, letter, argument_, help_, how, .optional = true },
#define ALIAS(name_, hint)  { name_, .shown = true },
#define HIDDEN(name_, hint) { name_ },
#define LETTER(letter_)     { .letter = letter_ },
static const struct option_row rows[] = {
#include OPTIONS_DEF
	{ 0 },
};
#undef HEADING
#undef OPTION
#undef OPTIONAL
#undef ALIAS
#undef HIDDEN
#undef LETTER
