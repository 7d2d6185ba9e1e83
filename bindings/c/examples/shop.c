/* A shop: customers and their orders in tables, a sale as a transaction, and a report while the shop sells.
 *
 *     cc -I bindings/c/include shop.c -lsardonyx_capi -o shop
 *     ./shop shop.sdx
 */

#include "sardonyx.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows in this program's form. */
struct customer {
    uint64_t id;
    sdx_text name;
    sdx_int128 credit; /* cents */
};

struct order {
    uint64_t id;
    uint64_t customer;
    sdx_int128 price;
    int64_t placed;
    sdx_text note;
    uint8_t has_no_note;
};

static const sdx_binding customer_columns[] = {
    { "id", SDX_TYPE_UINT64, offsetof(struct customer, id), SDX_NEVER_NULL, 0 },
    { "name", SDX_TYPE_TEXT, offsetof(struct customer, name), SDX_NEVER_NULL, 0 },
    { "credit", SDX_TYPE_DECIMAL, offsetof(struct customer, credit), SDX_NEVER_NULL, 0 },
};

static const sdx_binding order_columns[] = {
    { "id", SDX_TYPE_UINT64, offsetof(struct order, id), SDX_NEVER_NULL, 0 },
    { "customer", SDX_TYPE_UINT64, offsetof(struct order, customer), SDX_NEVER_NULL, 0 },
    { "price", SDX_TYPE_DECIMAL, offsetof(struct order, price), SDX_NEVER_NULL, 0 },
    { "placed", SDX_TYPE_TIMESTAMP, offsetof(struct order, placed), SDX_NEVER_NULL, 0 },
    { "note", SDX_TYPE_TEXT, offsetof(struct order, note), offsetof(struct order, has_no_note), 0 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct shop {
    sdx_tables *tables;
    sdx_statement *customers;
    sdx_statement *orders;
};

static void must(sdx_status status)
{
    if (status != SDX_OK) {
        fprintf(stderr, "%s: %s\n", sdx_status_name(status), sdx_error_message());
        exit(1);
    }
}

static sdx_text text(const char *string)
{
    sdx_text text = { string, strlen(string) };
    return text;
}

static void open_shop(struct shop *shop, const char *directory)
{
    sdx_schema *schema;
    must(sdx_tables_open(directory, &shop->tables));

    must(sdx_schema_new(&schema));
    must(sdx_schema_column(schema, "id", "u64", 0));
    must(sdx_schema_column(schema, "name", "text", 0));
    must(sdx_schema_column(schema, "credit", "decimal(2)", 0));
    must(sdx_schema_key(schema, "id", 0));
    must(sdx_schema_check(schema, "solvent", "credit >= 0"));
    must(sdx_table_create(shop->tables, "customers", schema));
    must(sdx_schema_close(schema));

    must(sdx_schema_new(&schema));
    must(sdx_schema_column(schema, "id", "u64", 0));
    must(sdx_schema_column(schema, "customer", "u64", 0));
    must(sdx_schema_column(schema, "price", "decimal(2)", 0));
    must(sdx_schema_column(schema, "placed", "timestamp", 0));
    must(sdx_schema_column(schema, "note", "text", SDX_NULLABLE));
    must(sdx_schema_key(schema, "id", 0));
    must(sdx_schema_index(schema, "by_customer", "customer, id desc", SDX_ORDERED));
    must(sdx_schema_reference(schema, "of", "customer", "customers", "id", 0));
    must(sdx_table_create(shop->tables, "orders", schema));
    must(sdx_schema_close(schema));

    must(sdx_prepare(shop->tables, "customers", customer_columns, COUNT(customer_columns),
                     sizeof(struct customer), &shop->customers));
    must(sdx_prepare(shop->tables, "orders", order_columns, COUNT(order_columns),
                     sizeof(struct order), &shop->orders));
}

struct sale {
    struct shop *shop;
    struct order order;
};

/* A transaction: a result other than 0 undoes it. */
static int sell(sdx_transaction *transaction, void *user)
{
    struct sale *sale = user;
    struct customer customer = { .id = sale->order.customer };
    sdx_status status;
    if ((status = sdx_get(transaction, sale->shop->customers, &customer)) != SDX_OK)
        return status;
    /* Less than 2^64 cents, so the lower half will do. The table's condition refuses a negative credit. */
    int64_t left = (int64_t) customer.credit.low - (int64_t) sale->order.price.low;
    customer.credit.low = (uint64_t) left;
    customer.credit.high = left < 0 ? -1 : 0;
    if ((status = sdx_insert(transaction, sale->shop->orders, &sale->order)) != SDX_OK)
        return status;
    return sdx_update(transaction, sale->shop->customers, &customer);
}

/* The newest orders of a customer, newest first. */
static uint64_t newest(struct shop *shop, sdx_view *view, uint64_t customer, uint64_t limit)
{
    struct order row = { .customer = customer };
    sdx_range range = { .size = sizeof range, .index = "by_customer", .from = &row, .to = &row,
                        .from_columns = 1, .to_columns = 1, .limit = limit };
    sdx_cursor *cursor;
    sdx_status status;
    uint64_t count = 0;
    must(sdx_view_find(view, shop->orders, &range, &cursor));
    while ((status = sdx_next(cursor, &row)) == SDX_OK) {
        printf("order %" PRIu64 " for %" PRIu64 " cents", row.id, row.price.low);
        if (!row.has_no_note)
            printf(": %.*s", (int) row.note.bytes, row.note.data);
        printf("\n");
        count++;
    }
    if (status != SDX_END)
        must(status);
    must(sdx_cursor_close(cursor));
    return count;
}

int main(int count, char **words)
{
    struct shop shop;
    open_shop(&shop, count > 1 ? words[1] : "shop.sdx");

    /* By hand: begin, operations, commit. */
    sdx_transaction *transaction;
    struct customer ada = { 1, text("Ada Lovelace"), { 2000, 0 } };
    must(sdx_transaction_begin(shop.tables, &transaction));
    must(sdx_put(transaction, shop.customers, &ada, NULL));
    must(sdx_transaction_commit(transaction, SDX_COMMIT_WAIT, NULL));

    uint64_t before;
    must(sdx_table_rows(shop.tables, "orders", &before));

    /* As functions: committed at once, on the disk when the last ticket has been waited for. */
    sdx_ticket *ticket = NULL;
    for (uint64_t n = 1; n <= 4; n++) {
        struct sale sale = { &shop, { before + n, 1, { 300 * n, 0 }, 1767225600000000 + (int64_t) n,
                                      text("gift wrapped"), n % 2 == 0 } };
        sdx_ticket *next = NULL;
        int status = sdx_transaction_run(shop.tables, sell, &sale, SDX_COMMIT_LATER, &next);
        if (status == SDX_REFUSED)
            printf("refused: %s\n", sdx_error_message());
        else
            must(status);
        if (next != NULL) {
            if (ticket != NULL)
                must(sdx_ticket_close(ticket));
            ticket = next;
        }
    }
    must(sdx_ticket_wait(ticket));
    must(sdx_ticket_close(ticket));

    sdx_view *view;
    must(sdx_view_open(shop.tables, &view));
    newest(&shop, view, 1, 2);
    must(sdx_view_get(view, shop.customers, &ada));
    printf("%.*s has %" PRIu64 " cents left\n", (int) ada.name.bytes, ada.name.data, ada.credit.low);
    must(sdx_view_close(view));

    must(sdx_statement_close(shop.customers));
    must(sdx_statement_close(shop.orders));
    must(sdx_tables_close(shop.tables));
    return 0;
}
