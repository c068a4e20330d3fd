//! The command lines of the snapshots.

/// The command lines that are tested for every command, each in its own directory.
pub(super) const COMMANDS: &str = r#"
[open]
open
open s.jsonl
open none.jsonl

[chat]
chat s.jsonl
chat s.jsonl -p Hello
chat s.jsonl -p Hello --json
chat s.jsonl --json
chat none.jsonl -p Hello
chat s.jsonl -p Hello --provider nobody

[context]
context s.jsonl
context s.jsonl --json
context s.jsonl --leaf b1
context s.jsonl --leaf none
context s.jsonl --llm
context s.jsonl --llm --json
context s.jsonl --view agent

[log]
log s.jsonl
log s.jsonl --json
log s.jsonl --leaf b1

[token]
token list
token create --scope write --space team
token revoke ci --store elsewhere

[tree]
tree s.jsonl
tree s.jsonl --json
tree s.jsonl --all

[branches]
branches s.jsonl
branches s.jsonl --json
branches s.jsonl --all

[serve]
serve --listen nonsense --token-file token
serve --store nowhere

[show]
show s.jsonl a2
show s.jsonl a3
show s.jsonl b3
show s.jsonl a2 --json

[stats]
stats s.jsonl
stats s.jsonl --json
stats s.jsonl --branch b1
stats s.jsonl other.jsonl

[append]
append s.jsonl --user 'More, please.'
append s.jsonl --assistant 'Here.' --model acme/m2
append s.jsonl --entry '{"type":"custom","customType":"note"}'
append new.jsonl --user Hello --cwd /project
log s.jsonl

[goto]
goto s.jsonl a2
goto s.jsonl b1 --json
goto s.jsonl none
goto s.jsonl a1 --edit
goto s.jsonl b4
goto s.jsonl b1 --summarize --summarizer extractive --label 'left it'

[pop]
pop s.jsonl --summarizer extractive
pop s.jsonl a1 --summarizer extractive --json

[label]
label s.jsonl a2 'the call'
label s.jsonl b1
label s.jsonl b1 --clear
tree s.jsonl

[name]
name s.jsonl
name s.jsonl 'What is here'
name s.jsonl
rename s.jsonl ''

[fork]
fork s.jsonl --dir forks
fork s.jsonl --at a3 --dir forks --cwd /elsewhere

[resume]
resume s.jsonl --print
resume s.jsonl --at a3 --print
resume s.jsonl --in claude-code --print
resume s.jsonl --in codex --print

[merge]
merge s.jsonl b1 --dry-run
merge s.jsonl b1 --full --dry-run --json
merge s.jsonl b1 --full
merge s.jsonl b1 --summarizer extractive --json

[cherry-pick]
cherry-pick s.jsonl b1 --dry-run
cherry-pick s.jsonl b1 --dry-run --json
cherry-pick s.jsonl b1
cherry-pick s.jsonl b1
cherry-pick s.jsonl c1 --from other.jsonl

[diff]
diff s.jsonl b1
diff s.jsonl b1 --json
diff s.jsonl b1 b4 --full
diff s.jsonl b1 --with other.jsonl

[edit-context]
edit-context s.jsonl drop a2 --dry-run
edit-context s.jsonl drop a2 --json
edit-context s.jsonl restore a2
edit-context s.jsonl replace a1 --text 'Look.'
context s.jsonl

[compact]
compact s.jsonl --dry-run
compact s.jsonl --dry-run --json --keep-recent 1
compact s.jsonl --keep-recent 1 --summarizer extractive

[ls]
ls .
ls . --json
ls --dir . --all --no-cache
ls . --sort name
ls . --named
ls . --agent codex

[usage]
demo --dir sample
usage --dir sample --timezone UTC
usage monthly --dir sample --timezone UTC --models
usage model --dir sample --csv
usage session --dir sample --json --since 2026-01-05 --until 2026-01-05 --timezone UTC
usage blocks --dir sample --timezone UTC
usage --dir sample --timezone UTC --statusline
usage --dir sample --since 2026-01-06 --timezone UTC
usage --dir elsewhere
usage --timezone nowhere
usage --since never

[search]
search nothing -d .
search nothing -d . --json
search 'role:user look' -d s.jsonl
search nothing -d . -l
search 're:n.thing' -d . --limit 1
search unheard -d .

[store]
store init other.jsonl
store check https://ada:secret@host/db

[tail]
tail s.jsonl --until-idle 0
tail s.jsonl -n 2 --until-idle 0 --json

[watch]
watch --dir . --until-idle 0
watch --dir . --until-idle 0 --json

[push]
push s.jsonl --store elsewhere
push s.jsonl --store elsewhere
push s.jsonl other.jsonl --store elsewhere --json
push secret.jsonl --redact --store elsewhere
push none.jsonl --store elsewhere
push s.jsonl
push --store elsewhere

[pull]
push s.jsonl --store elsewhere
pull demo-1 --store elsewhere
pull --all --store elsewhere
pull demo-1 --store elsewhere --json
pull none --store elsewhere

[sync]
push s.jsonl --store elsewhere
sync --store elsewhere
sync --store elsewhere --json
sync --store elsewhere --watch --until-idle 0
sync

[rm]
rm s.jsonl
rm other.jsonl --json
rm s.jsonl

[restore]
restore
rm s.jsonl
restore
restore --json
restore nothing
restore s.jsonl --to back.jsonl
restore --last

[mcp]
mcp

[archive]
archive s.jsonl
archive other.jsonl --json
archive s.jsonl.zst

[unarchive]
archive s.jsonl other.jsonl
unarchive s.jsonl.zst
unarchive other.jsonl.zst --json
unarchive s.jsonl

[move]
move s.jsonl .
move other.jsonl elsewhere --missing --json
move s.jsonl gone

[gc]
gc --dir out --dry-run
gc --dir out --dry-run --json
gc --dir out --yes
gc --dir out --yes

[convert]
convert s.jsonl --to omp -o omp.jsonl
convert s.jsonl --to chimera -o chimera.jsonl --json
convert s.jsonl --to omp -o omp.jsonl

[export]
export s.jsonl -f md
export s.jsonl -f json
export s.jsonl -f jsonl --branch b1
export s.jsonl -o s.md
export s.jsonl -o s.md
export s.jsonl -f md --subtree b2
export s.jsonl --site site --since 7d
export --site site
export --site site

[share]
share secret.jsonl --print
share secret.jsonl
share s.jsonl --print --html --yes

[redact]
redact secret.jsonl --check
redact secret.jsonl --check --json
redact secret.jsonl -o clean.jsonl
show clean.jsonl a1
redact s.jsonl --check

[doctor]
doctor s.jsonl
doctor bad.jsonl
doctor bad.jsonl --json
doctor .
doctor bad.jsonl --repair -o good.jsonl
check good.jsonl

[migrate]
migrate old.jsonl --dry-run
migrate old.jsonl --json
migrate old.jsonl
log old.jsonl

[demo]
demo --dir d
demo --dir d

[config]
config
config --json
config path
config init
config init

[completions]
completions fish

[man]
man
man pages

[help]
help
help sessions
help goto
help nonsense
"#;

/// Every command that takes a session, and where it takes it.
pub(super) const ON_A_SESSION: &str = r#"
context FILE
log FILE
tree FILE
branches FILE
show FILE a1
stats FILE
goto FILE a1
pop FILE
label FILE a1 x
name FILE
fork FILE
resume FILE --print
merge FILE a1
cherry-pick FILE a1
cherry-pick s.jsonl a1 --from FILE
diff FILE a1
diff s.jsonl a1 --with FILE
edit-context FILE drop a1
compact FILE
search x -d FILE
tail FILE --until-idle 0
rm FILE
archive FILE
unarchive FILE
move FILE .
convert FILE --to omp -o out.jsonl
export FILE -f md
share FILE --print
redact FILE --check
doctor FILE
migrate FILE
"#;

/// Every command that takes an entry, and where it takes it.
pub(super) const ON_AN_ENTRY: &str = r#"
context s.jsonl --leaf ID
log s.jsonl --leaf ID
show s.jsonl ID
stats s.jsonl --branch ID
append s.jsonl --parent ID --user x
append s.jsonl --expect-leaf ID --user x
goto s.jsonl ID
pop s.jsonl ID --summarizer extractive
label s.jsonl ID x
fork s.jsonl --at ID
merge s.jsonl ID --summarizer extractive
cherry-pick s.jsonl ID
cherry-pick s.jsonl a1..ID
diff s.jsonl ID
diff s.jsonl b1 ID
edit-context s.jsonl drop ID
edit-context s.jsonl replace ID --text x
edit-context s.jsonl restore ID
compact s.jsonl --dry-run --leaf ID
convert s.jsonl --to omp -o out.jsonl --leaf ID
export s.jsonl -f md --branch ID
export s.jsonl -f md --subtree ID
"#;

/// Command lines that make no sense, or ask for what cannot be.
pub(super) const SENSELESS: &str = r#"
nonsense
tre s.jsonl
tree
tree s.jsonl --nonsense
label s.jsonl a1 ''
context s.jsonl --view nobody
append s.jsonl
append s.jsonl --user a --assistant b
append s.jsonl --user a --durability some
append new.jsonl --user a --dialect nobody
append s.jsonl --entry '{'
append s.jsonl --entry '[]'
append s.jsonl --assistant x --model m
ls --sort size,name
ls --since someday
ls --agent nobody
ls . --limit some
ls . --time late
ls nowhere
ls --all --project x
search
search 're:(' -d .
search '"open' -d .
search since:soon -d .
search role:king -d .
search agent:nobody -d .
search x -d nowhere
search x -d . --sort old
tail s.jsonl -n some
tail s.jsonl --until-idle soon
watch --until-idle -1
compact s.jsonl --keep-recent some
compact s.jsonl --keep-recent 1 --summarizer nobody
convert s.jsonl
convert s.jsonl --to nobody
convert s.jsonl --to omp -o s.jsonl
export s.jsonl -f pdf
export s.jsonl -o notes.jsonl
redact s.jsonl --check --pattern 'x=('
redact s.jsonl --check --pattern '('
redact s.jsonl -o s.jsonl
doctor s.jsonl --repair --in-place -o x
doctor
config edit
completions tcsh
move s.jsonl
show s.jsonl
help a b
cherry-pick s.jsonl b4..a1
merge s.jsonl b4
fork s.jsonl --redact-pattern x
"#;

/// The commands that show hostile content.
pub(super) const LOOKS: &str = r#"
tree FILE --all
log FILE
context FILE
branches FILE --all
stats FILE
name FILE
tail FILE --until-idle 0 -n 30
show FILE a2
show FILE a4
show FILE a5
diff FILE c1
search z -d FILE
export FILE -f md
share FILE --print
doctor FILE
ls .
goto FILE c1
fork FILE --dir f
"#;
