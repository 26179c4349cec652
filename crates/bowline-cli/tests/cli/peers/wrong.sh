# A server of 2025-06-18 whose tools have no names, that dies when it is asked for prompts, and
# whose errors have data.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  member=result
  case $line in
    *'"method":"initialize"'*)
      value='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"wrong","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      value='{"tools":[{"name":7,"inputSchema":{"type":"object"}}]}' ;;
    *'"method":"resources/list"'*)
      value='{"resources":[{"uri":"x:a","name":"a"}]}' ;;
    *'"method":"resources/templates/list"'*)
      value='{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*)
      member=error
      value='{"code":-32000,"message":"locked","data":{"by":"\u001b[2J","since":12345678901234567890123}}' ;;
    *'"method":"prompts/list"'*) exit 7 ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"'$member'":'"$value"'}'
done
