<?php
// Laravel's Eloquent with PDO, and Doctrine's DBAL: tables, changes of columns, models, relations, JSON, upserts, locks,
// transactions with savepoints, full text, introspection. Needs apt-get install php-pgsql php-illuminate-database php-doctrine-dbal
error_reporting(E_ERROR);
if (!@include '/usr/share/php/Illuminate/Database/autoload.php') {
    echo "Eloquent is not installed: apt-get install php-cli php-pgsql php-illuminate-database php-doctrine-dbal\n";
    exit(77);
}
use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\SoftDeletes;

function same($got, $expected)
{
    if ($got !== $expected) {
        throw new RuntimeException('got ' . json_encode($got) . ', expected ' . json_encode($expected));
    }
}

function fails($code, $function)
{
    try {
        $function();
    } catch (PDOException $error) {
        same($error->getCode(), $code);
        return;
    }
    throw new RuntimeException("$code was expected");
}

$at = parse_url($argv[1]);
$manager = new Manager();
$manager->addConnection(['driver' => 'pgsql', 'host' => $at['host'], 'port' => $at['port'], 'database' => substr($at['path'], 1), 'username' => $at['user'], 'password' => '', 'charset' => 'utf8', 'schema' => 'public', 'sslmode' => 'prefer']);
$manager->setAsGlobal();
$manager->bootEloquent();
$schema = $manager->schema();
$db = $manager->connection();

class User extends Model
{
    use SoftDeletes;
    protected $table = 'lv_users';
    protected $guarded = [];
    protected $casts = ['data' => 'array'];
    public function posts()
    {
        return $this->hasMany(Post::class, 'user_id');
    }
}

class Post extends Model
{
    protected $table = 'lv_posts';
    protected $guarded = [];
    public $timestamps = false;
}

$schema->dropIfExists('lv_posts');
$schema->dropIfExists('lv_users');
$schema->create('lv_users', function ($table) {
    $table->id();
    $table->string('name')->unique();
    $table->enum('kind', ['a', 'b'])->default('a');
    $table->json('plain')->nullable();
    $table->jsonb('data')->nullable();
    $table->uuid('key')->nullable();
    $table->ipAddress('ip')->nullable();
    $table->decimal('money', 8, 2)->nullable();
    $table->boolean('active')->default(true);
    $table->timestampsTz();
    $table->softDeletes();
    $table->binary('raw')->nullable();
    $table->time('clock')->nullable();
    $table->fullText('name');
    $table->index('key', 'lv_key', 'hash');
    $table->rawIndex('(lower(name)) varchar_pattern_ops', 'lv_lower');
});
$schema->create('lv_posts', function ($table) {
    $table->increments('id');
    $table->foreignId('user_id')->constrained('lv_users')->cascadeOnDelete();
    $table->text('body');
    $table->integer('n')->default(0)->comment('count');
    $table->index(['user_id', 'body']);
    $table->string('upper')->storedAs('upper(body)');
});
same(array_slice($schema->getColumnListing('lv_users'), 0, 3), ['id', 'name', 'kind']);
same([$schema->hasTable('lv_users'), $schema->hasColumn('lv_users', 'none')], [true, false]);
$ada = User::create(['name' => 'Ada', 'data' => ['k' => [1, 2]], 'money' => 1.5, 'ip' => '10.0.0.1']);
same($ada->refresh()->data, ['k' => [1, 2]]);
same([$ada->id, $ada->ip, $ada->money], [1, '10.0.0.1', '1.50']);
same($ada->posts()->create(['body' => 'x'])->refresh()->upper, 'X');
same(User::with('posts')->withCount('posts')->whereHas('posts')->get()->first()->posts_count, 1);
same([User::whereJsonContains('data->k', 1)->count(), User::whereJsonLength('data->k', 2)->count(), User::where('data->k->0', 1)->count()], [1, 1, 1]);
User::where('name', 'Ada')->update(['data->z' => 5]);
same(User::first()->data, ['k' => [1, 2], 'z' => 5]);
User::upsert([['name' => 'Ada', 'kind' => 'b'], ['name' => 'Bob', 'kind' => 'a']], ['name'], ['kind']);
same(User::orderBy('name')->pluck('kind')->all(), ['b', 'a']);
same($manager->table('lv_users')->insertOrIgnore([['name' => 'Ada']]), 0);
same(Post::updateOrCreate(['body' => 'x'], ['n' => 2])->n, 2);
same($manager->table('lv_posts')->join('lv_users', 'lv_users.id', '=', 'lv_posts.user_id')->where('lv_users.name', 'Ada')->update(['n' => 3]), 1);
same($manager->table('lv_posts')->orderBy('id')->limit(1)->update(['n' => 4]), 1);
same($manager->table('lv_posts')->join('lv_users', 'lv_users.id', '=', 'lv_posts.user_id')->where('lv_users.name', 'none')->delete(), 0);
same(User::whereFullText('name', 'ada')->count(), 1);
same(User::whereDate('created_at', '>', '2000-01-01')->whereYear('created_at', date('Y'))->whereTime('created_at', '>=', '00:00')->count(), 2);
same(User::cursor()->count(), 2);
same(User::query()->forPage(1, 1)->get()->count(), 1);
$seen = 0;
User::chunkById(1, function ($users) use (&$seen) {
    $seen += $users->count();
});
same($seen, 2);
fails('23505', fn () => $manager->table('lv_users')->insert(['name' => 'Ada']));
fails('23514', fn () => $manager->table('lv_users')->insert(['name' => 'x', 'kind' => 'c']));
fails('23503', fn () => Post::create(['user_id' => 999, 'body' => 'x']));
$db->transaction(function () use ($db) {
    same(User::lock('for update skip locked')->limit(1)->get()->count(), 1);
    same(User::sharedLock()->get()->count(), 2);
    try {
        $db->transaction(fn () => User::create(['name' => 'Ada']));
    } catch (PDOException $error) {
    }
    same(User::count(), 2);
});
$ada->delete();
same([User::count(), User::withTrashed()->count(), $ada->restore()], [1, 2, true]);
$schema->table('lv_posts', fn ($table) => $table->bigInteger('n')->nullable()->change());
$schema->table('lv_posts', fn ($table) => $table->renameColumn('n', 'number'));
$schema->table('lv_posts', fn ($table) => $table->dropColumn('number'));
$schema->table('lv_users', fn ($table) => $table->dropUnique(['name']));
$schema->table('lv_users', fn ($table) => $table->dropFullText(['name']));
$schema->disableForeignKeyConstraints();
$schema->enableForeignKeyConstraints();
$manager->table('lv_posts')->truncate();
$doctrine = $db->getDoctrineSchemaManager();
foreach (['listTableNames', 'listSequences', 'listDatabases', 'listSchemaNames'] as $list) {
    same(count($doctrine->$list()) > 0, true);
}
same(count($doctrine->listViews()) >= 0, true);
same(count($doctrine->listTableForeignKeys('lv_posts')), 1);
// The query has no ORDER BY: PostgreSQL's own order is not always the same.
$indexes = array_keys($doctrine->listTableIndexes('lv_posts'));
sort($indexes);
same($indexes, ['lv_posts_user_id_body_index', 'primary']);
same(count($doctrine->introspectTable('lv_posts')->getColumns()), 4);
$pdo = $db->getPdo();
$statement = $pdo->prepare('INSERT INTO lv_users (name, raw) VALUES (:name, :raw) RETURNING id');
$bytes = fopen('data://application/octet-stream;base64,AP8=', 'rb');
$statement->bindValue(':name', 'bytes');
$statement->bindParam(':raw', $bytes, PDO::PARAM_LOB);
$statement->execute();
$id = $statement->fetchColumn();
same(stream_get_contents($pdo->query("SELECT raw FROM lv_users WHERE id = $id")->fetchColumn()), "\0\xff");
same($pdo->lastInsertId('lv_users_id_seq'), (string) $id);
$pdo->pgsqlCopyFromArray('lv_posts', ["7\t$id\tcopied"], "\t", '\\N', 'id, user_id, body');
same($pdo->pgsqlCopyToArray('(SELECT body, upper FROM lv_posts)'), ["copied\tCOPIED\n"]);
$pdo->exec('LISTEN lv_channel');
$pdo->exec("NOTIFY lv_channel, 'hey'");
same($pdo->pgsqlGetNotify(PDO::FETCH_ASSOC, 10000)['payload'], 'hey');
same($pdo->query('SELECT 1 AS a')->getColumnMeta(0)['native_type'], 'int4');
$schema->drop('lv_posts');
$schema->drop('lv_users');
echo "Eloquent, DBAL and PDO ok\n";
