# A server of 2025-06-18 whose images are none, between texts that are fine.
image='{"type":"image","data":"?!","mimeType":"image/png"}'
url='{"type":"image","data":"data:image/png;base64,aGk=","mimeType":"image/png"}'
parts='{"type":"text","text":"before"},'$image','$url',{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"after"}'
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"broken","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"draw","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"draw"'*) result='{"content":['$parts']}' ;;
    *'"method":"tools/call"'*'"fail"'*) result='{"content":['$parts'],"isError":true}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"a\r\nco\u00adop \ud83d\udc69\u200d\ud83d\udc67\u001b[2J"},{"type":"text","text":"\u202eb"}]}' ;;
    *'"method":"prompts/list"'*) result='{"prompts":[{"name":"say"}]}' ;;
    *'"method":"prompts/get"'*)
      result='{"messages":[{"role":"user","content":'$image'},{"role":"assistant","content":{"type":"text","text":"I see"}}]}' ;;
    *) continue ;;
  esac
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
