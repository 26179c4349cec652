# A server of 2025-11-25 that refuses each call until its page was visited, and then one time more
# where the tool is `never`.
asked=
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"pages","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"files","inputSchema":{"type":"object"}},{"name":"never","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      case $asked$line in
        1*'"files"'*) result='{"content":[{"type":"text","text":"your files"}]}' ;;
        *)
          asked=1
          page='{"mode":"url","message":"Sign in","url":"https://example.com/sign-in","elicitationId":"1"}'
          printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32042,"message":"sign in first","data":{"elicitations":['"$page"']}}}'
          continue ;;
      esac ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
