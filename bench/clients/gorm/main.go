// GORM: migration twice, associations, hooks, upserts, transactions with savepoints, preloads, JSON, the migrator.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Company struct {
	ID   uint   `gorm:"primaryKey"`
	Code string `gorm:"size:12;uniqueIndex"`
	Name string
}

type Language struct {
	gorm.Model
	Name string `gorm:"uniqueIndex:idx_language,where:deleted_at is null"`
}

type User struct {
	gorm.Model
	Name      string `gorm:"type:varchar(80);not null;index:idx_name_age,priority:1"`
	Age       uint8  `gorm:"index:idx_name_age,priority:2;check:age_small,age < 200"`
	Email     *string
	Balance   float64 `gorm:"type:numeric(12,2);default:0"`
	Born      time.Time
	Active    sql.NullBool `gorm:"default:true;comment:still here"`
	Meta      string       `gorm:"type:jsonb;default:'{}'"`
	Key       string       `gorm:"type:uuid;default:gen_random_uuid()"`
	Raw       []byte
	CompanyID *uint
	Company   *Company
	Cards     []Card     `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
	Languages []Language `gorm:"many2many:user_languages"`
}

type Card struct {
	ID     uint64 `gorm:"primaryKey;autoIncrement"`
	Number string `gorm:"unique"`
	UserID *uint
	Limit  int64 `gorm:"column:card_limit;default:100"`
}

func must(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func check(good bool, what ...any) {
	if !good {
		log.Output(2, fmt.Sprint(what...))
		os.Exit(1)
	}
}

func main() {
	log.SetFlags(log.Lshortfile)
	level := logger.Silent
	if os.Getenv("LOG") != "" {
		level = logger.Info
	}
	for _, prepare := range []bool{false, true} {
		db, err := gorm.Open(postgres.Open(os.Args[1]), &gorm.Config{PrepareStmt: prepare, TranslateError: true, Logger: logger.Default.LogMode(level)})
		must(err)
		must(db.Migrator().DropTable("user_languages", &Card{}, &User{}, &Language{}, &Company{}))
		must(db.AutoMigrate(&Company{}, &Language{}, &User{}, &Card{}))
		must(db.AutoMigrate(&Company{}, &Language{}, &User{}, &Card{}))
		email := "ada@example.org"
		ada := User{Name: "Ada", Age: 36, Email: &email, Balance: 12.5, Born: time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC), Meta: `{"a": [1]}`, Raw: []byte{0, 255},
			Company: &Company{Code: "x", Name: "Engines"}, Cards: []Card{{Number: "1"}, {Number: "2"}}, Languages: []Language{{Name: "en"}, {Name: "fr"}}}
		must(db.Create(&ada).Error)
		check(ada.ID == 1 && len(ada.Key) == 36 && ada.Cards[1].ID == 2 && ada.Cards[0].Limit == 100, ada)
		var many []User
		for i := range 150 {
			many = append(many, User{Name: fmt.Sprintf("user %03d", i), Age: uint8(i), CompanyID: ada.CompanyID})
		}
		must(db.CreateInBatches(&many, 40).Error)
		var found User
		must(db.Preload("Cards", func(db *gorm.DB) *gorm.DB { return db.Order("cards.id desc") }).Preload("Languages").Joins("Company").First(&found, "users.name = ?", "Ada").Error)
		check(found.Cards[0].Number == "2" && len(found.Languages) == 2 && found.Company.Name == "Engines" && found.Active.Bool && found.Balance == 12.5 && found.Raw[1] == 255, found)
		check(errors.Is(db.Create(&Card{Number: "1"}).Error, gorm.ErrDuplicatedKey), "duplicate")
		nobody := uint(999999)
		check(errors.Is(db.Create(&Card{Number: "9", UserID: &nobody}).Error, gorm.ErrForeignKeyViolated), "foreign key")
		check(errors.Is(db.Create(&User{Name: "old", Age: 201}).Error, gorm.ErrCheckConstraintViolated), "check")
		check(errors.Is(db.First(&found, "name = 'nobody'").Error, gorm.ErrRecordNotFound), "not found")
		must(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&Company{Code: "x", Name: "Machines"}).Error)
		must(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Company{Code: "x", Name: "none"}).Error)
		var company Company
		must(db.Where(&Company{Code: "x"}).Take(&company).Error)
		check(company.Name == "Machines", company)
		must(db.Transaction(func(tx *gorm.DB) error {
			var locked User
			if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&locked, 1).Error; err != nil {
				return err
			}
			tx.Transaction(func(inner *gorm.DB) error {
				inner.Create(&Card{Number: "lost"})
				return errors.New("back")
			})
			tx.SavePoint("here")
			tx.Create(&Card{Number: "lost, too"})
			tx.RollbackTo("here")
			return tx.Model(&locked).Updates(map[string]any{"age": gorm.Expr("age + ?", 1), "balance": 20}).Error
		}, &sql.TxOptions{Isolation: sql.LevelSerializable}))
		var count int64
		must(db.Model(&Card{}).Count(&count).Error)
		check(count == 2, count)
		var changed []User
		must(db.Model(&changed).Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "age"}}}).Where("age between ? and ?", 36, 37).Update("active", false).Error)
		check(len(changed) == 3, changed)
		type group struct {
			Code  string
			Users int
			Mean  float64
		}
		var groups []group
		must(db.Model(&User{}).Select("companies.code, count(*) as users, avg(age) as mean").Joins("left join companies on companies.id = users.company_id").Group("companies.code").Having("count(*) > ?", 100).Scan(&groups).Error)
		check(len(groups) == 1 && groups[0].Users == 151, groups)
		var names []string
		must(db.Model(&User{}).Where("meta @> ?", `{"a": [1]}`).Or("name IN ?", []string{"user 001", "user 002"}).Order("name").Limit(2).Offset(1).Pluck("name", &names).Error)
		check(len(names) == 2 && names[0] == "user 001", names)
		must(db.Where("age > (?)", db.Model(&User{}).Select("avg(age)")).Find(&many).Error)
		must(db.Model(&ada).Association("Languages").Replace(&Language{Name: "de"}))
		check(db.Model(&ada).Association("Languages").Count() == 1, "languages")
		rows, err := db.Model(&User{}).Where("age < 10").Rows()
		must(err)
		for rows.Next() {
			must(db.ScanRows(rows, &found))
		}
		must(rows.Close())
		must(db.Delete(&User{}, "name like ?", "user%").Error)
		must(db.Model(&User{}).Count(&count).Error)
		check(count == 1, count)
		must(db.Unscoped().Delete(&many[0]).Error)
		migrator := db.Migrator()
		check(migrator.HasTable(&User{}) && migrator.HasColumn(&User{}, "Email") && migrator.HasIndex(&User{}, "idx_name_age") && migrator.HasConstraint(&User{}, "age_small"), "migrator")
		types, err := migrator.ColumnTypes(&User{})
		must(err)
		check(len(types) == 14, len(types))
		must(migrator.RenameColumn(&User{}, "email", "mail"))
		must(migrator.DropColumn(&User{}, "mail"))
		must(migrator.DropConstraint(&User{}, "age_small"))
		must(migrator.DropIndex(&User{}, "idx_name_age"))
		tables, err := migrator.GetTables()
		must(err)
		check(len(tables) >= 5, tables)
		must(migrator.DropTable("user_languages", &Card{}, &User{}, &Language{}, &Company{}))
	}
	fmt.Println("gorm ok")
}
