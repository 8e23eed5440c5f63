package main

import (
	"strconv"
	"strings"
	"text/template"
)

// funcs are what templates call.
var funcs = template.FuncMap{
	"cell":   cell,
	"indent": indent,
	"last":   last,
	"quote":  strconv.Quote,
	"wrap":   wrap,
}

// indent returns the indentation inside the group named.
func indent(group string) string {
	if group == "" {
		return ""
	}
	return strings.Repeat("    ", 1+strings.Count(group, "."))
}
