#include "cli/follow.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "store/logbook.h"

/* Looked at by stat each second: worktrees that come and go give no event. */
enum { TICK_MS = 1000, REST_SHARE = 2, REST_MIN_MS = 50 };
static const int64_t AT_LATEST_MS = 30000;

/* --- Arming ------------------------------------------------------------------ */

static bool same(const struct strv *a, const struct strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

/* Moves WHAT over *HELD; true when it was another list. */
static bool replaced(struct strv *held, struct strv *what)
{
	bool news = !same(held, what);

	strv_release(held);
	*held = *what;
	*what = (struct strv){0};
	return news;
}

static int arm(struct call *c, const struct follow *f, const struct strv *refs,
        const struct strv *files, struct wake **w, struct err *err)
{
	AUTOFREE char *store_dir = store_dir_of(c->project.git.common);
	struct wake_spec spec = {
	        .common = c->project.git.common,
	        .store_dir = store_dir,
	        .reftable = c->project.git.reftable,
	        .refs = (const char *const *)refs->v,
	        .files = (const char *const *)files->v,
	        .bell = f->bell,
	        .watch_stdin = c->watch_stdin,
	        .instance_share = wake_instance_share(),
	};

	wake_close(STEAL(*w));
	return wake_open(&spec, w, err);
}

/* --- Holding -------------------------------------------------------------------- */

/* Says when a worktree came or went. */
static int64_t worktrees_mark(const struct project *p)
{
	AUTOFREE char *dir = path_join(p->git.common, "worktrees");
	struct stat st;

	return stat(dir, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
	                           : 0;
}

/* Until there is a reason to tell again: 0; 1: it is over. */
static int hold(struct call *c, struct wake *w, int64_t mark, struct err *err)
{
	int64_t latest = clock_mono_ms() + AT_LATEST_MS;

	for (;;) {
		enum wake_reason why;

		if (wake_hold(w, latest, TICK_MS, &why, err) < 0)
			return -1;
		if (why == WAKE_SIGNAL || why == WAKE_ORPHANED)
			return 1;
		if (why != WAKE_TICK || worktrees_mark(&c->project) != mark)
			return 0;
	}
}

/* Lets others have the processors; what happens meanwhile is kept for the next hold. */
static void rest(int64_t ms)
{
	int64_t until = clock_mono_ms() + (ms > REST_MIN_MS ? ms : REST_MIN_MS);
	int64_t left;

	while (!stop_signal && (left = until - clock_mono_ms()) > 0)
		poll(NULL, 0, (int)left);
}

int follow_run(struct call *c, const struct follow *f, struct result *res, struct err *err)
{
	AUTOSTRV refs = {0}, files = {0};
	AUTOWAKE *w = NULL;
	int rc = 0;

	c->streamed = true;
	while (rc == 0) {
		AUTOSTRV now_refs = {0}, now_files = {0};
		int64_t mark = worktrees_mark(&c->project), begun = clock_mono_ms(), took;
		bool written = true, news;

		strv_take(&now_files, logbook_pulse(c->project.git.common));
		if (f->tell(c, f->ctx, &now_refs, &now_files, &written, err) < 0)
			return stop_signal ? (err_clear(err), 0) : -1;
		if (!written) {
			res->status = 1;
			return 0;
		}
		took = clock_mono_ms() - begun;
		news = replaced(&refs, &now_refs);
		news |= replaced(&files, &now_files);
		/* What changed before it was watched is told at once. */
		if (!w || news) {
			if (arm(c, f, &refs, &files, &w, err) < 0)
				return -1;
			if (stop_signal)
				return 0;
			continue;
		}
		rc = hold(c, w, mark, err);
		if (rc == 0)
			rest(REST_SHARE * took);
	}
	return rc < 0 ? -1 : 0;
}
