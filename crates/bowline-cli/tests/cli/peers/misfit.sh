# A server of 2025-06-18 whose answers are not what they should be.
output='{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
unknown='{"type":"object","$schema":"https://example.com/own"}'
schema='"inputSchema":{"type":"object"}'
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"misfit","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"misfit",'$schema',"outputSchema":'$output'},{"name":"unknown",'$schema',"outputSchema":'$unknown'},{"name":"unread",'$schema'},{"name":"blank",'$schema'},{"name":"more",'$schema'}]}' ;;
    *'"method":"tools/call"'*'"misfit"'*) result='{"content":[{"type":"text","text":"the answer"}],"structuredContent":{"n":"x"}}' ;;
    *'"method":"tools/call"'*'"unknown"'*) result='{"content":[{"type":"text","text":"the answer"}],"structuredContent":{"n":1}}' ;;
    *'"method":"tools/call"'*'"unread"'*) result='{"content":"the answer"}' ;;
    *'"method":"tools/call"'*'"blank"'*) result='{"content":[{"type":"text","text":" "}],"structuredContent":{"answer":42}}' ;;
    *'"method":"tools/call"'*'"more"'*) result='{"content":[{"type":"text","text":"2 hits"}],"structuredContent":{"hits":["a","b"]}}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
