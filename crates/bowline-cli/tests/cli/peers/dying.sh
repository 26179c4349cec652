# A server of 2025-06-18 with a tool that kills it.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"dying","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) echo 'what a pity' >&2; exit 7 ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
