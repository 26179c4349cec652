# A server of 2025-06-18 that logs without end.
read -r line
printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{}},"serverInfo":{"name":"chatty","version":"1"}}}'
while printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u001b[2Jla la"}}'; do
  :
done
