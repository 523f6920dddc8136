#include "cli/completion.h"

const char *const completion_shells[] = {"bash", "zsh", "fish", NULL};

/*
 * bash splits words at "=" and "@" (COMP_WORDBREAKS): they are put together
 * again, and what bash holds already is cut off the candidates.
 */
static const char bash[] =
        "# bash completion for abide\n"
        "_abide() {\n"
        "\tlocal line=${COMP_LINE:0:COMP_POINT} rest i n=0 word kind='' candidate typed\n"
        "\tlocal -a words=()\n"
        "\trest=$line\n"
        "\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
        "\t\tword=${COMP_WORDS[i]}\n"
        "\t\tif ((i > 0)) && [[ $rest == [![:space:]]* ]]; then\n"
        "\t\t\t((i == COMP_CWORD)) && word=$rest\n"
        "\t\t\twords[n - 1]+=$word\n"
        "\t\telse\n"
        "\t\t\trest=${rest#\"${rest%%[![:space:]]*}\"}\n"
        "\t\t\t((i == COMP_CWORD)) && word=$rest\n"
        "\t\t\twords[n]=$word\n"
        "\t\t\t((n += 1))\n"
        "\t\tfi\n"
        "\t\trest=${rest#\"$word\"}\n"
        "\tdone\n"
        "\tfor ((i = 0; i < n; i++)); do\n"
        "\t\tword=${words[i]#[\\\"\\']}\n"
        "\t\tword=${word%[\\\"\\']}\n"
        "\t\twords[i]=${word//\\\\/}\n"
        "\tdone\n"
        "\ttyped=${words[n - 1]}\n"
        "\ttyped=${typed%\"${typed##*[=@:]}\"}\n"
        "\t[[ $COMP_WORDBREAKS == *=* ]] || typed=\n"
        "\tCOMPREPLY=()\n"
        "\twhile IFS=$'\\t' read -r candidate word; do\n"
        "\t\tcase $candidate in\n"
        "\t\t:files | :dirs) kind=$candidate ;;\n"
        "\t\t*) COMPREPLY+=(\"$(printf %q \"${candidate#\"$typed\"}\")\") ;;\n"
        "\t\tesac\n"
        "\tdone < <(command abide __complete -- \"${words[@]:1}\" 2>/dev/null)\n"
        "\tword=${words[n - 1]#\"$typed\"}\n"
        "\tcase $kind in\n"
        "\t:files) compopt -o filenames 2>/dev/null; while read -r candidate; do\n"
        "\t\tCOMPREPLY+=(\"$candidate\"); done < <(compgen -f -- \"$word\") ;;\n"
        "\t:dirs) compopt -o filenames 2>/dev/null; while read -r candidate; do\n"
        "\t\tCOMPREPLY+=(\"$candidate\"); done < <(compgen -d -- \"$word\") ;;\n"
        "\tesac\n"
        "\tcase ${COMPREPLY[0]-} in\n"
        "\t*=) compopt -o nospace 2>/dev/null ;;\n"
        "\tesac\n"
        "\treturn 0\n"
        "}\n"
        "complete -F _abide abide\n";

static const char zsh[] =
        "#compdef abide\n"
        "# zsh completion for abide\n"
        "_abide() {\n"
        "\tlocal line kind candidate\n"
        "\tlocal -a described\n"
        "\twhile IFS= read -r line; do\n"
        "\t\tcandidate=${line%%$'\\t'*}\n"
        "\t\tcase $candidate in\n"
        "\t\t:files | :dirs) kind=$candidate ;;\n"
        "\t\t*)\n"
        "\t\t\tcandidate=${candidate//\\\\/\\\\\\\\}\n"
        "\t\t\tcandidate=${candidate//:/\\\\:}\n"
        "\t\t\tdescribed+=(\"$candidate:${line#*$'\\t'}\")\n"
        "\t\t\t;;\n"
        "\t\tesac\n"
        "\tdone < <(command abide __complete -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
        "\tcase $kind in\n"
        "\t:files) _files ;;\n"
        "\t:dirs) _files -/ ;;\n"
        "\t*) (( ${#described} )) && _describe -V abide described ;;\n"
        "\tesac\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _abide ]; then\n"
        "\t_abide \"$@\"\n"
        "else\n"
        "\tcompdef _abide abide\n"
        "fi\n";

static const char fish[] =
        "# fish completion for abide\n"
        "function __abide_complete\n"
        "\tset -l words (commandline -opc)\n"
        "\tset -l current (commandline -ct)\n"
        "\tfor line in (command abide __complete -- $words[2..-1] \"$current\" 2>/dev/null)\n"
        "\t\tswitch $line\n"
        "\t\t\tcase ':files*'\n"
        "\t\t\t\t__fish_complete_path $current\n"
        "\t\t\tcase ':dirs*'\n"
        "\t\t\t\t__fish_complete_directories $current\n"
        "\t\t\tcase '*'\n"
        "\t\t\t\techo $line\n"
        "\t\tend\n"
        "\tend\n"
        "end\n"
        "complete -c abide -f -a '(__abide_complete)'\n";

const char *completion_script(const char *shell)
{
	const char *const scripts[] = {bash, zsh, fish};

	for (size_t i = 0; i < NELEMS(scripts); i++)
		if (strcmp(completion_shells[i], shell) == 0)
			return scripts[i];
	return NULL;
}
