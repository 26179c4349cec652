# A server of 2025-06-18 whose tools say little to people.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"terse","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"empty","inputSchema":{"type":"object"}},{"name":"structured","inputSchema":{"type":"object"}},{"name":"wrapped","inputSchema":{"type":"object"}},{"name":"beside","inputSchema":{"type":"object"}},{"name":"tagged","inputSchema":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}}}}]}' ;;
    *'"method":"tools/call"'*'"structured"'*) result='{"content":[],"structuredContent":{"n":[1,12345678901234567890123]}}' ;;
    *'"method":"tools/call"'*'"wrapped"'*) result='{"content":[{"type":"text","text":"a\nfile"}],"structuredContent":{"content":"a\nfile"}}' ;;
    *'"method":"tools/call"'*'"beside"'*) result='{"content":[{"type":"resource_link","uri":"x:a","name":"a"}],"structuredContent":{"n":1}}' ;;
    *'"method":"tools/call"'*) result='{"content":[]}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
