# A server of 2025-06-18 whose descriptions are long, and wrapped by their author already.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"wordy","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"search","description":"Searches all documents that are in the index for the words that are given, and\nreturns the best ones with an excerpt from each of them, and with their titles.\nThe search is case-insensitive.\n\nUse it:\n- to find a document whose title is not known, but some words that have to be in it\n- to count","inputSchema":{"type":"object"}},{"name":"width","description":"全角文字は二桁を占める。 全角文字は二桁を占める。 全角文字は二桁を占める。 全角文字は二桁を占める。 end","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"resources/list"'*)
      result='{"resources":[{"uri":"x:a","name":"a","description":"A description that is longer than a column of a table has room for, so it goes on below"},{"uri":"x:b","name":"全角","description":"Short"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resourceTemplates":[]}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
