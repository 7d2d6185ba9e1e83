# Functions of regular expressions, with matches of no length as PostgreSQL counts them.

query
SELECT regexp_replace('axb', 'x*', '-', 'g'), regexp_replace('abc', '(b)(x)?', '[\1|\2|\&|\\|\9]'), regexp_replace('abab', 'b', 'X'), regexp_replace('aBab', 'b', 'X', 'gi')
----
-a--b-|a[b||b|\|]c|aXab|aXaX

query
SELECT regexp_replace('abc', '', '-', 'g'), regexp_replace('äöü', 'x*', '-', 'g'), regexp_replace('abc', 'b', 'a\'), regexp_replace(NULL, 'b', 'x')
----
-a-b-c-|-ä-ö-ü-|aa\c|NULL

query
SELECT regexp_match('foobarbeque', '(bar)(beque)'), regexp_match('abc', 'b'), regexp_match('abc', '(x)?b'), regexp_match('abc', 'z'), regexp_match('ABC', 'b', 'i')
----
{bar,beque}|{b}|{NULL}|NULL|{B}

query
SELECT regexp_split_to_array('the quick', '\s*'), regexp_split_to_array('the quick', '\s+'), regexp_split_to_array('a1b2c', '\d'), regexp_split_to_array('1a1', '1'), regexp_split_to_array('', 'x'), regexp_split_to_array('aXbxc', 'x', 'i')
----
{t,h,e,q,u,i,c,k}|{the,quick}|{a,b,c}|{"",a,""}|{""}|{a,b,c}

query
SELECT regexp_split_to_table('a1b', '\d'), regexp_split_to_table('aXb', 'x', 'i')
----
a|a
b|b

query
SELECT regexp_count('abcabc', 'b'), regexp_count('abc', 'x*'), regexp_like('Hello', 'hel', 'i'), regexp_like('a', 'A'), regexp_substr('foobar', 'o+'), regexp_substr('x', 'y')
----
2|4|t|f|oo|NULL

query
SELECT replace(regexp_replace(E'a\nb', '^.', 'X', 'gn'), E'\n', '/'), replace(regexp_replace(E'a\nb', '^.', 'X', 'g'), E'\n', '/')
----
X/X|X/b

statement error 22023
SELECT regexp_replace('abc', 'b', 'X', 'z')
----
invalid regular expression option: "z"

statement error 22023
SELECT regexp_match('abc', 'b', 'g')
----
regexp_match() does not support the "global" option
HINT: Use the regexp_matches function instead.

statement error 22023
SELECT regexp_split_to_array('abc', 'b', 'g')
----
regexp_split_to_array() does not support the "global" option

statement error 54000
SELECT length(regexp_replace(repeat('a', 100000), 'a', repeat('\&', 1) || repeat('b', 100000), 'g'))
