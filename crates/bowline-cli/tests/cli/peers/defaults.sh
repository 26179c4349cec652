# A server of 2025-06-18 whose tool requires arguments that have defaults; it answers with its input.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"defaults","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"style":{"type":"string","default":"formal"},"times":{"type":"integer","default":2},"page":{"type":"object","properties":{"size":{"type":"integer","default":10},"from":{"type":"integer"}},"required":["size","from"]}},"required":["name","style","times"]}}]}' ;;
    *'"method":"tools/call"'*)
      arguments=${line#*\"arguments\":}
      # Quotes of the text would end it: it is shown with others.
      arguments=$(printf '%s' "${arguments%\}*}" | tr '"' "'")
      result='{"content":[{"type":"text","text":"'"$arguments"'"}]}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
