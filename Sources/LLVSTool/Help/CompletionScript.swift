/// The scripts that make shells complete words; they call the program for the words.
enum CompletionScript {
  static let all = ["bash": bash, "zsh": zsh, "fish": fish]

  private static let bash = #"""
    # Completion of llvs for bash: eval "$(llvs completion bash)"
    _llvs() {
      local rest=$COMP_LINE part line word start files= i
      local -a words=()
      # Bash cuts words at "=" and ":" too: pieces without a blank between them are one word.
      for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest != [[:space:]]* && ($rest || $COMP_LINE != *[[:space:]]) ]]; then
          words[-1]+=$part
        else
          rest=${rest#"${rest%%[![:space:]]*}"}
          words+=("$part")
        fi
        rest=${rest#"$part"}
      done
      # An open quote and backslashes are no part of a name.
      { IFS= read word; IFS= read part; } <<< "${words[-1]#[\"\']}"$'\n'"${part#[\"\']}"
      words[-1]=$word
      # What is before the last piece is not replaced.
      start=${word%"$part"}
      [[ $part == [=:] ]] && start=$word
      COMPREPLY=()
      while IFS= read -r line; do
        if [[ $line == *:files ]]; then
          files=1
        else
          line=${line#"$start"}
          # Readline quotes what it takes for file names.
          [[ $line == *[!-[:alnum:]_./:=,@~^]* ]] && compopt -o filenames 2>/dev/null
          COMPREPLY+=("$line")
        fi
      done < <(llvs completion words -- "${words[@]:1}" 2>/dev/null)
      if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${word#"$start"}")
      fi
      if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
      fi
    }
    complete -F _llvs llvs
    """#

  private static let zsh = #"""
    #compdef llvs
    # Completion of llvs for zsh: eval "$(llvs completion zsh)", or this file as _llvs in $fpath
    _llvs() {
      local line files=
      local -a found open
      for line in "${(@f)$(llvs completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
          *:files) files=1 ;;
          "") ;;
          *[=/:]) open+=("$line") ;;
          *) found+=("$line") ;;
        esac
      done
      (($#found)) && compadd -- "${found[@]}"
      (($#open)) && compadd -S "" -- "${open[@]}"
      [[ $files ]] && _files
    }
    if [[ $funcstack[1] == _llvs ]]; then _llvs "$@"; else compdef _llvs llvs; fi
    """#

  private static let fish = #"""
    # Completion of llvs for fish: llvs completion fish | source
    function __llvs_words
      set -l words (commandline -opc) (commandline -ct)
      for line in (llvs completion words -- $words[2..-1] 2>/dev/null)
        switch $line
          case '*:files'
            __fish_complete_path (commandline -ct)
          case '*'
            echo $line
        end
      end
    end
    complete -c llvs -f -a '(__llvs_words)'
    """#
}
