/* Memory of a process that goes on for long. */
#pragma once

/* Gives back what only starting needed: freed memory, and pages of the program and its libraries as they are in their
 * files; those that are used again come back. A debugger's breakpoints in them do not. */
void memory_give_back(void);
