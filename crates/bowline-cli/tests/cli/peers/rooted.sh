# A server of 2025-06-18 that ends unless it is told where it may work.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      case $line in *'"roots"'*) ;; *) echo 'no folder to work in' >&2; exit 1 ;; esac
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"rooted","version":"1"}}' ;;
    *'notifications/initialized'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
      continue ;;
    *'"roots":['*)
      root=${line#*\"uri\":\"}
      root=${root%%\"*} ;;
    *'"method":"tools/list"'*)
      while [ -z "$root" ]; do
        read -r answer || exit 1
        root=${answer#*\"uri\":\"}
        root=${root%%\"*}
      done
      result='{"tools":[{"name":"list","description":"Files in '$root'","inputSchema":{"type":"object"}}]}' ;;
    *) continue ;;
  esac
  case $line in *'"method"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}' ;; esac
done
