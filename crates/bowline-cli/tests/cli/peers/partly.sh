# A server of 2025-06-18 that declares more than it has, and lists tools that are none.
schema='"inputSchema":{"type":"object"}'
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  member=result
  case $line in
    *'"method":"initialize"'*)
      value='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"partly","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      value='{"tools":[{"name":"bare"},{"name":"numbered","description":7,'$schema'},7,{"name":"good",'$schema'}]}' ;;
    *'"method":"tools/call"'*)
      value='{"content":[{"type":"text","text":"done"}]}' ;;
    *'"method":"resources/list"'*)
      member=error
      value='{"code":-32603,"message":"the disk is full"}' ;;
    *'"id"'*)
      member=error
      value='{"code":-32601,"message":"Method not found"}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"'$member'":'"$value"'}'
done
