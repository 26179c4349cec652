# A server of 2025-06-18 whose list of tools has no end: each page leads to the next.
count=0
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"endless","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      count=$((count + 1))
      result='{"tools":[{"name":"t'$count'","inputSchema":{"type":"object"}}],"nextCursor":"'$count'"}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
