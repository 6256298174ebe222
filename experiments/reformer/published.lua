-- How the tables of Kitaev et al. 2020 read here: Table 2 has a column for each attention that is
-- evaluated, which are rows of their own.
return function(record)
  if record.table ~= "2" then return {} end
  return {
    row = ("%s | %s"):format(record.row, record.column),
    model = ("%s:eval:%s"):format(record.model, record.column),
  }
end
