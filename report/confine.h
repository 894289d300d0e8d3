/* What a command still may do once it knows its words: read the files they name, and make the one they say. */
#ifndef REPORT_CONFINE_H
#define REPORT_CONFINE_H

/* For good; argv[0] is the command's name. Where the kernel lacks the means, as far as it goes. */
void confine(int argc, char **argv);

#endif
