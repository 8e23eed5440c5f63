package main

import (
	"strconv"
	"text/template"
)

// funcs are what templates call.
var funcs = template.FuncMap{
	"quote": strconv.Quote,
	"env":   envName,
	"wrap":  wrap,
	"last":  last,
}
