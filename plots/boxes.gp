# A box of quartiles per category, whiskers, outliers with their names. Needs $boxes (place, low, q1, median, q3, high),
# $outliers (place, value, text), `boxes`, array `names`.
set xrange [0.4 : boxes + 0.6]
unset key
set grid noxtics ytics
set xtics ()
do for [i = 1:boxes] { set xtics add (names[i] i) }
set boxwidth 0.5
set style fill solid 0.35 border
plot $boxes using 1:3:2:6:5 with candlesticks linecolor rgb "#0072B2" linewidth 1.4 notitle whiskerbars 0.5, \
     $boxes using 1:4:4:4:4 with candlesticks linecolor rgb "#D55E00" linewidth 2.4 notitle, \
     $outliers using 1:2 with points pointtype 6 pointsize mark_size linecolor rgb "#1d2733" notitle, \
     $outliers using 1:2:3 with labels left offset 0.9,0 font small notitle
