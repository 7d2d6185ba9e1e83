# redis-cli: commands one by one, a pipe of many, a transaction.
ask() { redis-cli "$@"; }
at=("$@")
[ "$(ask "${at[@]}" SET cli:a 1)" = OK ]
[ "$(ask "${at[@]}" INCRBY cli:a 41)" = 42 ]
[ "$(ask "${at[@]}" ZADD cli:z 2 two 1 one 3 three)" = 3 ]
[ "$(ask "${at[@]}" ZRANGE cli:z 0 -1 | tr '\n' ' ')" = "one two three " ]
printf 'MULTI\nSET cli:b x\nAPPEND cli:b y\nEXEC\n' | ask "${at[@]}" | tail -1 | grep -qx 2
seq 1000 | sed 's/.*/SET cli:pipe:& &/' | ask "${at[@]}" --pipe | grep -q "errors: 0, replies: 1000"
[ "$(ask "${at[@]}" --scan --pattern 'cli:pipe:*' | wc -l)" = 1000 ]
redis-cli --version
