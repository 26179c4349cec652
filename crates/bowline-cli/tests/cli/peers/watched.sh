# A server of 2025-06-18 that tells of changes: in its first life it ends then, in its second
# it logs one more message.
say() {
  printf '%s\n' "$1"
}
log() {
  say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"'"$1"'","data":'"$2"'}}'
}
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"watched","version":"1"}}' ;;
    *'"id":'*) result='{}' ;;
    *) continue ;;
  esac
  say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
  case $line in *'"method":"initialize"'*) log info '"starts"' ;; esac
  case $line in *'"method":"resources/subscribe"'*)
    if [ ! -e lived ]; then
      : > lived
      log error '{"disk":1.0}'
      say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
      say '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:other"}}'
      say '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}'
      exit 3
    fi
    log error '"lives again"' ;;
  esac
done
