# A server of 2025-06-18 with a resource whose URI has 70,000 characters.
uri=$(head -c 70000 /dev/zero | tr '\0' x)
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"resources":{}},"serverInfo":{"name":"huge","version":"1"}}' ;;
    *'"method":"resources/list"'*) result='{"resources":[{"uri":"'"$uri"'","name":"a"},{"uri":"x:b","name":"b"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resourceTemplates":[]}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
