-- What shells complete, from the descriptors of commands/: names of commands, options, their values
-- where these are known (an option's `words`), and a command's words. A
-- descriptor's `takes` says which words those are: "script", "file", "folder", or a function that gives
-- an array for the words that stand before, nil where a path follows; the shell asks the program for
-- these, so that they are those of the moment.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"

local completion = {}

completion.shells = { "bash", "zsh", "fish" }

-- What stands for the value of an option: { words = { ... } }, { folder = true }, { file = true } or {}.
local function value_of(option)
  local what = option[3] or ""
  if option.words then return { words = option.words } end
  if what == "FOLDER" then return { folder = true } end
  return what:find "^FILE" and { file = true } or {}
end

-- Those of `words` that are no option and no option's value; nil where one is not right.
local function plain_words(entry, words)
  local names = {}
  for i, option in ipairs(entry.options) do names[i] = option[1] end
  local values, rest = core.arguments(words, names)
  return values and rest
end

--- The words that a command takes now behind those of `before`; nil where they are not known, as those
--- of paths.
function completion.words(commands, name, before)
  if name == "help" then return #before == 0 and lists.names(commands) or {} end
  for _, entry in ipairs(commands) do
    if entry.name == name and type(entry.takes) == "function" then
      local rest = plain_words(entry, before)
      if rest and #rest >= (entry.most or 0) then return {} end
      return rest and entry.takes(rest)
    end
  end
  return {}
end

-- ---- bash ----

local bash_head = [==[
# Completion of longhaul for bash, written by `longhaul completion bash`.
_longhaul() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options= takes= taken
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "help COMMANDS" -- "$cur")
        return
    fi
    case $command:$prev in
]==]

local bash_tail = [==[
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--help $options" -- "$cur")
        return
    fi
    case $takes in
    script) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -X '!*.lua' -- "$cur"; compgen -d -- "$cur") ;;
    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    words)
        if taken=$("${COMP_WORDS[0]}" completion words "$command" -- "${COMP_WORDS[@]:2:COMP_CWORD-2}" 2>/dev/null); then
            mapfile -t COMPREPLY < <(compgen -W "$taken" -- "$cur")
        else
            compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi ;;
    esac
}
complete -F _longhaul longhaul
]==]

local function bash_reply(value)
  if value.words then
    return ('mapfile -t COMPREPLY < <(compgen -W "%s" -- "$cur")'):format(table.concat(value.words, " "))
  end
  local flag = value.folder and "-d" or value.file and "-f"
  if not flag then return ":" end
  return ('compopt -o filenames; mapfile -t COMPREPLY < <(compgen %s -- "$cur")'):format(flag)
end

local function takes_word(entry)
  return type(entry.takes) == "function" and "words" or entry.takes or ""
end

local function bash(commands)
  local names = table.concat(lists.names(commands), " ")
  local lines = { (bash_head:gsub("COMMANDS", function() return names end)) }
  for _, entry in ipairs(commands) do
    for _, option in ipairs(entry.options) do
      if option[1]:find "=$" then
        lines[#lines + 1] = ("    %s:--%s) %s; return ;;\n"):format(entry.name,
          option[1]:sub(1, -2), bash_reply(value_of(option)))
      end
    end
  end
  lines[#lines + 1] = "    esac\n    case $command in\n    help) takes=words ;;\n"
  for _, entry in ipairs(commands) do
    local options = {}
    for i, option in ipairs(entry.options) do options[i] = "--" .. option[1]:gsub("=$", "") end
    lines[#lines + 1] = ("    %s) options='%s' takes=%s ;;\n"):format(entry.name,
      table.concat(options, " "), takes_word(entry))
  end
  return table.concat(lines) .. bash_tail
end

-- ---- zsh ----

-- A text in single quotes; in a specification of _arguments a colon and brackets mean something.
local function zsh_quoted(text) return (text:gsub("'", "'\\''")) end
local function zsh_meaning(text) return zsh_quoted((text:gsub("[%[%]:\\]", "\\%0"))) end

local function zsh_value(value, what)
  if value.words then return (":%s:(%s)"):format(what, table.concat(value.words, " ")) end
  return (":%s:%s"):format(what, value.folder and "_files -/" or value.file and "_files" or " ")
end

-- The words of the moment; files where there are none.
local zsh_words = [==[
_longhaul_words() {
  local taken
  if taken=$(longhaul completion words $words[1] -- "${(@)words[2,CURRENT-1]}" 2>/dev/null); then
    compadd -- ${(f)taken}
  else
    _files
  fi
}]==]

local zsh_takes = { script = "_files -g \"*.lua\"", file = "_files", folder = "_files -/" }

local function zsh_arguments(entry)
  local words = { "'--help[show what it does]'" }
  for _, option in ipairs(entry.options) do
    local name, takes_value = option[1]:gsub("=$", "")
    words[#words + 1] = ("'%s--%s[%s]%s'"):format(option.repeats and "*" or "", name,
      zsh_meaning(option[2]), takes_value > 0
        and zsh_value(value_of(option), zsh_meaning(option[3] or "VALUE")) or "")
  end
  local takes = takes_word(entry)
  if takes == "words" then
    words[#words + 1] = "'*:word:_longhaul_words'"
  elseif takes ~= "" then
    words[#words + 1] = ("'*:%s:%s'"):format(takes, zsh_takes[takes])
  end
  return table.concat(words, " ")
end

local function zsh(commands)
  local lines = { "#compdef longhaul", "# Completion of longhaul for zsh, written by `longhaul completion zsh`.",
    zsh_words, "_longhaul() {", "  local -a commands", "  commands=(", "    'help:show what a command does'" }
  for _, entry in ipairs(commands) do
    lines[#lines + 1] = ("    '%s:%s'"):format(entry.name, zsh_quoted(entry.summary))
  end
  table.move({ "  )", "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
    "  local command=$words[2]", "  shift words; (( CURRENT-- ))", "  case $command in",
    "  help) _describe command commands ;;" }, 1, 6, #lines + 1, lines)
  for _, entry in ipairs(commands) do
    lines[#lines + 1] = ("  %s) _arguments %s ;;"):format(entry.name, zsh_arguments(entry))
  end
  return table.concat(lines, "\n") .. "\n  esac\n}\n_longhaul \"$@\"\n"
end

-- ---- fish ----

local function fish_quoted(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

local fish_takes = { script = " -F", file = " -F", folder = " -xa '(__fish_complete_directories)'" }

local function fish_value(value)
  if value.words then return " -xa " .. fish_quoted(table.concat(value.words, " ")) end
  return value.folder and fish_takes.folder or value.file and " -rF" or " -x"
end

local function fish(commands)
  local lines = { "# Completion of longhaul for fish, written by `longhaul completion fish`.",
    "complete -c longhaul -f" }
  local function add(where, text)
    lines[#lines + 1] = ("complete -c longhaul -n %s %s"):format(fish_quoted(where), text)
  end
  add("__fish_use_subcommand", "-a help -d 'show what a command does'")
  add("__fish_seen_subcommand_from help", "-a '(longhaul completion words help)'")
  for _, entry in ipairs(commands) do
    local seen, takes = "__fish_seen_subcommand_from " .. entry.name, takes_word(entry)
    add("__fish_use_subcommand", ("-a %s -d %s"):format(entry.name, fish_quoted(entry.summary)))
    if takes == "words" then
      add(seen, ("-a '(longhaul completion words %s -- (commandline -opc)[3..]; "
        .. "or __fish_complete_path (commandline -ct))'"):format(entry.name))
    elseif takes ~= "" then
      add(seen, fish_takes[takes]:sub(2))
    end
    for _, option in ipairs(entry.options) do
      local name, takes_value = option[1]:gsub("=$", "")
      add(seen, ("-l %s%s -d %s"):format(name, takes_value > 0
        and fish_value(value_of(option)) or "", fish_quoted(option[2])))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local writers = { bash = bash, zsh = zsh, fish = fish }

--- The script that a shell reads.
function completion.script(shell, commands) return writers[shell](commands) end

return completion
