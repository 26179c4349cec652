# A server of 2025-06-18 that has resources and prompts, and has never heard of templates.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  error=
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"resources":{},"prompts":{}},"serverInfo":{"name":"plain","version":"1"}}' ;;
    *'"method":"resources/list"'*)
      result='{"resources":[{"uri":"x:a","name":"a","description":"The first of two lines\nand the second"}]}' ;;
    *'"method":"prompts/list"'*) result='{"prompts":[{"name":"say"}]}' ;;
    *'"method":"resources/read"'*) error='{"code":-32000,"message":"not today"}' ;;
    *'"id":'*) error='{"code":-32601,"message":"what?"}' ;;
    *) continue ;;
  esac
  if [ -n "$error" ]; then
    printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"error":'"$error"'}'
  else
    printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
  fi
done
