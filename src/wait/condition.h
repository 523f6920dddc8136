/*
 * What a watch remembers of each condition, and how one is judged. Internal to
 * this folder.
 *
 * A branch condition follows its branch: the latest tip seen outlives the ref.
 * It is armed once a tip was seen outside the trunk, and its work has landed
 * when it is armed and the latest tip is reachable from the trunk, or when a
 * receipt after the watch's baseline says so.
 */
#ifndef ABIDE_WAIT_CONDITION_H
#define ABIDE_WAIT_CONDITION_H

#include "project/project.h"
#include "wait/wait.h"

enum via { VIA_NONE, VIA_PROOF, VIA_ANCESTRY, VIA_RECEIPT, VIA_TRUNK };
enum verdict { NOT_YET, HOLDS, SETTLED };

/* A branch as the watch follows it. */
struct follow {
	/* Remembered from call to call. */
	char *refs[2];  /* full names it may have: as given, or as a task's id */
	size_t refs_n;  /* 1 as soon as it is known which; 0 for trunk-moved */
	struct oid tip; /* the latest seen, "" none yet */
	bool armed;
	struct oid armed_tip; /* the tip that was seen outside the trunk last */

	/* Of this call. */
	struct oid live;                 /* the ref's value now, "" when it is gone */
	bool reached;                    /* tip is reachable from the trunk as of the two below */
	struct oid seen_tip, seen_trunk; /* what `reached` speaks of */
	struct oid searched_trunk, searched_notes; /* where receipts were looked for */
	struct receipt receipt;                    /* found; branch NULL: none */
};

struct condition {
	enum condition_id id;
	struct follow f;
	int64_t told_run, told_landing; /* what settled this watch before: told once */
	/* Once it held, it stays so. */
	bool held;
	json_t *observed; /* as it was when it held */

	/* Of the last evaluation. */
	enum verdict verdict;
	enum via via;
	struct oid commit;      /* proof: the green commit; landed: where it landed */
	const char *settled;    /* "red" or "refused" */
	json_t *settled_detail; /* {slug, files} or {jobs} */
};

/* Everything that an evaluation looks at. */
struct scene {
	struct project *p;
	struct condition *c;
	size_t n;
	enum wait_mode mode;
	bool may_start;
	bool fresh;          /* the first evaluation of a new watch */
	struct oid baseline; /* the trunk's tip when the watch began */
	struct oid trunk;    /* now, "" when it is gone */
	struct oid notes;    /* refs/notes/abide now */
	bool changed;        /* something to remember changed since it was written */
	bool found;          /* the last look at the refs saw something new */
	struct strv warnings;
	/* Of the caller's checkout; asked for once. */
	bool own_known;
	char *own_branch; /* full ref, NULL when detached */
};

void condition_release(struct condition *c);
void scene_release(struct scene *s);
#define AUTOSCENE CLEANUP(scene_release) struct scene

/* Reads trunk, notes and all branches asked about: one git process. */
int scene_look(struct scene *s, struct err *err);
/* The branch that the caller's checkout is on (full ref) or NULL. */
const char *scene_own_branch(struct scene *s);
/* Judges all conditions after scene_look. */
int scene_judge(struct scene *s, struct err *err);

/* follow.c: brings F up to date; its answer in *RET_VIA (ANCESTRY, RECEIPT or NONE). */
int follow_judge(struct scene *s, struct follow *f, enum via *ret_via, struct oid *ret_commit,
        struct err *err);
/* What a fresh call may refuse: nothing has the name, no worktree holds it. */
int follow_begin(struct scene *s, struct condition *c, const char *name, struct err *err);

/* One file each: cond_trunk.c, cond_landed.c, cond_green.c. */
struct condition_kind {
	const char *text;
	bool takes_branch;
	int (*judge)(struct scene *s, struct condition *c, struct err *err);
	/* "feat has not landed: …", what is still untrue. To be freed. */
	char *(*untrue)(const struct scene *s, const struct condition *c);
	/* Adds its keys to `observed`. */
	int (*observe)(const struct scene *s, const struct condition *c, json_t *observed,
	        struct err *err);
};
extern const struct condition_kind condition_trunk_moved, condition_landed, condition_green;
const struct condition_kind *condition_kind(enum condition_id id);

/* Keys of `observed` that both branch conditions share. */
void observe_follow(const struct scene *s, const struct condition *c, json_t *observed);
/* The short name that the condition speaks of; "" for trunk-moved. */
const char *condition_branch(const struct condition *c);

/* record.c: what a watch keeps in the store. */
json_t *record_write(const struct scene *s);
/* False when RECORD is not one that this version wrote. */
bool record_read(const json_t *record, struct scene *ret);
/* Canonical text: equal for equal questions, whatever their order. To be freed. */
char *record_question(const struct scene *s);

#endif
