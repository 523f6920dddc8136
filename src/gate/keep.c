#include <sys/stat.h>
#include <unistd.h>

#include "gate/own.h"

/* Which of the commits that have runs are gone from the repository. */
static int find_gone(const struct git *g, const struct strv *commits, struct strv *ret)
{
	AUTOPROC p = {0};
	AUTOBUF ask = {0};

	for (size_t i = 0; i < commits->n; i++)
		buf_printf(&ask, "%s\n", commits->v[i]);
	p.in = buf_str(&ask);
	p.in_len = ask.len;
	if (git_run(git_at_common(g), &p, GIT_WORDS("cat-file", "--batch-check=%(objecttype)"),
	            NULL) < 0 ||
	        p.status != 0)
		return -1;
	for (char *line = p.out.data, *next; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (text_ends(line, " missing"))
			strv_take(ret, xstrndup(line, strcspn(line, " ")));
	}
	return 0;
}

/* After the verdict, so that nobody waits for it. Failing costs nothing but room. */
void keep_house(const struct project *p, struct store *s, const struct run *run)
{
	AUTOFREE char *own_log = path_join(run->log_dir, "runner.txt");
	AUTOSTRV commits = {0};
	AUTOSTRV gone = {0};
	struct stat st;

	if (stat(own_log, &st) == 0 && st.st_size == 0)
		unlink(own_log);
	if (run_commits(s, &commits, NULL) == 0 && find_gone(&p->git, &commits, &gone) == 0)
		run_forget(s, &gone, NULL);
}
